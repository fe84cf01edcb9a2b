import { describe, expect, it } from "vitest";
import { sourceOf, textOf } from "./inputs";

describe("sourceOf", () => {
  it("knows the scheduler by the names of its files, unless they are JSON alone", () => {
    expect(sourceOf(["dags.json", "daily.py"])).toBe("airflow");
    expect(sourceOf(["flow.yml"])).toBe("dolphinscheduler");
    expect(sourceOf(["crontab.txt"])).toBe("crontab");
    expect(sourceOf(["export.json"])).toBeNull();
    expect(sourceOf([])).toBeNull();
  });
});

describe("textOf", () => {
  it("reads a text in the encoding of its mark", () => {
    expect(textOf(Uint8Array.of(0xff, 0xfe, 0xe9, 0))).toBe("é");
    expect(textOf(Uint8Array.of(0xfe, 0xff, 0, 0xe9))).toBe("é");
    expect(textOf(Uint8Array.of(0xef, 0xbb, 0xbf, 0xc3, 0xa9))).toBe("é");
  });
});

import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { asOneFile } from "./asOneFile";

describe("several workflows in one file", () => {
  it("are documents of it, however each was written", () => {
    const file = asOneFile(["# c\nname: a", "%YAML 1.2\n---\nname: b\n", "---\nname: c\n...\n", "name: d\n"]);
    const found = parseAllDocuments(file).map((each) => {
      expect((each as { errors: unknown[] }).errors).toEqual([]);
      return (each as { toJS(): { name: string } | null }).toJS()?.name;
    });
    expect(found.filter((each) => each !== undefined)).toEqual(["a", "b", "c", "d"]);
    expect(file).toContain("# c");
  });
});

import { describe, expect, it } from "vitest";
import type { Line } from "./lines";
import { merged, timeOf } from "./merge";

const BEGUN = Date.UTC(2026, 10, 23, 5, 0, 0);

function lines(...texts: string[]): Line[] {
  return texts.map((text, place) => ({ at: place * 100, bytes: 100, text, isWhole: true }));
}

function part(seconds: [number, number], ...texts: string[]) {
  return { begun: BEGUN + seconds[0] * 1_000, ended: BEGUN + seconds[1] * 1_000, lines: lines(...texts) };
}

function texts(...parts: ReturnType<typeof part>[]): string[] {
  return merged(parts).map(({ line }) => line.text);
}

describe("several logs in one", () => {
  it("stand where their attempts began while they have no times", () => {
    expect(texts(part([9, 20], "c", "d"), part([0, 8], "a", "b"))).toEqual(["a", "b", "c", "d"]);
  });
  it("are mixed by the times that programs write, and what follows a line stays with it", () => {
    const one = part([0, 60], "begin", "2026-11-23T05:00:10Z one", "  at line 7", "2026-11-23T05:00:30.5Z three");
    const two = part([1, 60], "[2026-11-23 05:00:20,250] two", "2026-11-23 05:00:40 four");
    expect(texts(one, two).map((text) => text.split(" ").at(-1))).toEqual([
      "begin",
      "one",
      "7",
      "two",
      "three",
      "four",
    ]);
  });
  it("know a clock of another zone by when the attempt ran", () => {
    const utc = part([0, 60], "2026-11-23T05:00:10Z first", "2026-11-23T05:00:30Z third");
    const shanghai = part([0, 60], "2026-11-23 13:00:20 second");
    const nonsense = part([5, 60], "1999-01-01 00:00:00 no clock");
    expect(texts(utc, shanghai, nonsense).map((text) => text.split(" ").at(-1))).toEqual([
      "clock",
      "first",
      "second",
      "third",
    ]);
  });
  it("never change the order within one", () => {
    const back = part([0, 60], "2026-11-23T05:00:30Z a", "2026-11-23T05:00:10Z b", "c");
    expect(texts(back)).toEqual(["2026-11-23T05:00:30Z a", "2026-11-23T05:00:10Z b", "c"]);
  });
});

it("a time is read with its offset and its colours", () => {
  expect(timeOf("\u001b[2m2026-11-23T06:00:00.25+01:00 x")?.ms).toBe(BEGUN + 250);
  expect(timeOf("2026-11-23 05:00:00 UTC x")).toEqual({ ms: BEGUN, hasZone: true });
  expect(timeOf("at 2026-11-23 05:00:00")).toBeNull();
  expect(timeOf("123")).toBeNull();
});

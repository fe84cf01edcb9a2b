import { expect, test } from "vitest";
import { CHARTS, type Figures, joined, lastOf, pathOf, rangeOf, topOf } from "./series";

function sample(second: number, more: Partial<Figures> = {}): Figures {
  const nothing = { runs: 0, commands: 0, oldest_command_s: 0, queued: 0, oldest_queued_s: 0, running: 0 };
  return { at: new Date(Date.UTC(2026, 10, 20, 10) + second * 1000).toISOString(), ...nothing, ...more };
}

test("samples are kept once, in order, for an hour", () => {
  const known = [sample(0), sample(5)];
  expect(joined(known, [sample(5), sample(10)]).map((each) => each.at)).toEqual(
    [sample(0), sample(5), sample(10)].map((each) => each.at),
  );
  expect(joined(known, [sample(3_604)]).map((each) => each.at)).toEqual([sample(5).at, sample(3_604).at]);
  expect(joined([], [])).toEqual([]);
});

test("what the last sample does not know is not known now", () => {
  const samples = [sample(0, { lag_s: 0.02 }), sample(5)];
  expect(lastOf(samples, "lag_s")).toBeNull();
  expect(rangeOf(samples, "lag_s")).toEqual([0.02, 0.02]);
  expect(lastOf([], "queued")).toBeNull();
});

test("the top is round, and not below any line", () => {
  const samples = [sample(0, { queued: 37, running: 64 })];
  expect(topOf(samples, ["queued", "running"])).toBe(100);
  expect(topOf([sample(0, { queued: 2 })], ["queued"])).toBe(2);
  expect(topOf([sample(0)], ["queued"])).toBe(1);
});

test("a line is broken where nothing was known or nobody watched", () => {
  const samples = [sample(0, { lag_s: 0 }), sample(5, { lag_s: 1 }), sample(10), sample(15, { lag_s: 1 })];
  expect(pathOf(samples, "lag_s", 1, 5)).toBe("M0.0 34.0L66.7 2.0M200.0 2.0");
  expect(pathOf([sample(0, { queued: 1 }), sample(60, { queued: 1 })], "queued", 1, 5)).toBe("M0.0 2.0M200.0 2.0");
  expect(pathOf([], "queued", 1, 5)).toBe("");
});

test("each chart has one or two lines", () => {
  expect(CHARTS).toHaveLength(6);
  expect(CHARTS.every((each) => each.lines.length === 1 || each.lines.length === 2)).toBe(true);
});

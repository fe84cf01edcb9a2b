import { expect, it } from "vitest";
import type { TaskView } from "../model";
import { axisOf, barsOf, placeOf, ticksOf, tickText } from "./bars";

const at = (second: number) => new Date(second * 1000).toISOString();

const task = {
  name: "load",
  state: "DELAY_EXECUTION",
  after: [],
  missing: [],
  last: null,
  attempts: [
    { attempt: 1, state: "FAILURE", queued_at: at(2), started_at: at(3), ended_at: at(10) },
    { attempt: 2, state: "NEED_FAULT_TOLERANCE", queued_at: at(20), started_at: at(21), ended_at: at(25) },
    { attempt: 3, state: "DELAY_EXECUTION", queued_at: at(25), wait_reason: "RETRY", due_in_s: 10 },
  ],
} as unknown as TaskView;

it("a task waits, is queued, runs, and waits for its next attempt", () => {
  const bars = barsOf(task, 0, 30_000, 32_000).map(({ kind, from, to }) => [kind, from / 1000, to / 1000]);
  expect(bars).toEqual([
    ["wait", 0, 2],
    ["queue", 2, 3],
    ["bad", 3, 10],
    ["retry", 10, 20],
    ["queue", 20, 21],
    ["lost", 21, 25],
    ["retry", 25, 40],
  ]);
});

it("what skipped itself has a bar of its own kind", () => {
  const skipped = { attempt: 1, state: "SKIPPED", queued_at: at(0), started_at: at(1), ended_at: at(2) };
  const bars = barsOf({ ...task, attempts: [skipped] } as unknown as TaskView, 0, 9_000, 9_000);
  expect(bars.map(({ kind }) => kind)).toEqual(["queue", "skipped"]);
});

it("an axis goes from the begin of the run to its end, with few whole steps", () => {
  const axis = axisOf([task], 0, null, null);
  expect([axis.from, axis.to]).toEqual([0, 25_000]);
  expect(ticksOf(axis)).toEqual([0, 10, 20]);
  expect(placeOf(axis, 5_000)).toBe(20);
  expect([15, 120, 5400].map(tickText)).toEqual(["+15 s", "+2 min", "+1.5 h"]);
});

import type { TFunction } from "i18next";
import { expect, test } from "vitest";
import type { TaskView } from "./model";
import { inShort } from "./words";

const t = ((key: string, values?: { time?: string }) => `${key} ${values?.time ?? ""}`) as unknown as TFunction;

test("a stream that pauses starts again, a task that failed is tried again", () => {
  const last = { state: "DELAY_EXECUTION", wait_reason: "RETRY", due_in_s: 40 };
  const said = (is_stream: boolean) =>
    inShort({ state: last.state, last: { ...last, is_stream } } as TaskView, t, "", 0, 0);
  expect(said(true)).toBe("startsIn 40 s");
  expect(said(false)).toBe("short.retry 40 s");
});

test("a task that waits looks again", () => {
  const last = { state: "DELAY_EXECUTION", wait_reason: "LOOK", due_in_s: 40, is_stream: false };
  expect(inShort({ state: last.state, last } as TaskView, t, "", 0, 0)).toBe("short.look 40 s");
});

test("a task is skipped for the branch it is on, or for its start rule", () => {
  const said = (isUnneeded: boolean) =>
    inShort({ state: "SKIPPED", last: null, isUnneeded } as TaskView, t, "", 0, 0).trim();
  expect(said(false)).toBe("short.SKIPPED");
  expect(said(true)).toBe("short.unmet");
  const byItself = { state: "SKIPPED", last: { reason: "no orders today" } } as TaskView;
  expect(inShort(byItself, t, "", 0, 0)).toBe("no orders today");
});

test("an approval says that it waits for an answer, and how long", () => {
  const last = { state: "RUNNING_EXECUTION", type: "APPROVAL", started_at: "1970-01-01T00:00:00Z" };
  expect(inShort({ state: last.state, last } as TaskView, t, "", 0, 60_000)).toBe("short.asks 1 m 00 s");
});

test("a task with elements says how many are done", () => {
  const told = ((key: string, values: object) => `${key} ${Object.values(values)}`) as unknown as TFunction;
  const last = { state: "RUNNING_EXECUTION", elements: { done: 37, total: 100 } };
  const task = { state: last.state, last } as unknown as TaskView;
  expect(inShort(task, told, "", 0, 0)).toBe("short.elements 37,100");
});

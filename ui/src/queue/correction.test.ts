import { expect, test } from "vitest";
import { correctionOf, startOf, startParams } from "./correction";
import type { ErrorCommand } from "./queries";

const refused: ErrorCommand = {
  id: "35",
  type: "START_PROCESS",
  workflow_code: "999",
  params: '{"start_params": {"day": "1", "city": "x"}}',
  start_tasks: '["a", "b"]',
  reason: "there is no workflow with code 999",
  master: "4",
  refused_at: "2026-11-23T02:34:31Z",
};

test("what is not changed is not said", () => {
  const before = startOf(refused);
  expect(correctionOf(before, before)).toEqual({ params: {}, tasks: [] });
  expect(before.tasks).toBe("a, b");
});

test("a correction says what differs; a parameter that is gone is null", () => {
  const before = startOf(refused);
  const draft = {
    ...before,
    workflow_code: "1001",
    worker_group: "gpu",
    params: before.params.filter((each) => each.name !== "city"),
  };
  expect(correctionOf(draft, before)).toEqual({
    workflow_code: "1001",
    worker_group: "gpu",
    params: { city: null },
    tasks: [],
  });
});

test("parameters that are no object are told", () => {
  expect(startParams('{"start_params": 5}')).toBeNull();
  expect(startParams("nonsense")).toBeNull();
  expect(startParams(refused.params)).toEqual({ day: "1", city: "x" });
});

import { describe, expect, it } from "vitest";
import { doneOf, focusOf, shownTasks, statesOf, tasksOf, valuesOf } from "./model";
import type { Attempt, RunPage } from "./queries";
import { criticalPath } from "./tasks/criticalPath";

function attempt(name: string, state: string, ended_at: string | null, more: object = {}): Attempt {
  const started_at = "2026-11-20T10:00:00Z";
  return { id: name, name, state, started_at, ended_at, attempt: 1, counts: true, ...more } as Attempt;
}

const RUN = {
  tasks: [
    attempt("a", "FAILURE", "2026-11-20T10:00:01Z", { id: "1", counts: false }),
    attempt("a", "SUCCESS", "2026-11-20T10:00:09Z", { id: "2" }),
    attempt("b", "SUCCESS", "2026-11-20T10:00:05Z"),
    attempt("c", "FAILURE", "2026-11-20T10:00:20Z"),
  ],
  not_begun: [{ name: "d", state: "WAITING", missing: ["c"] }],
  graph: [
    { name: "a", after: [] },
    { name: "b", after: [] },
    { name: "c", after: ["a", "b"] },
    { name: "d", after: ["c"] },
  ],
} as unknown as RunPage;

describe("tasks of a run", () => {
  const tasks = tasksOf(RUN);

  it("are in the order of the definition, with the attempts of the present execution", () => {
    expect(tasks.map((task) => [task.name, task.state, task.attempts.length])).toEqual([
      ["a", "SUCCESS", 1],
      ["b", "SUCCESS", 1],
      ["c", "FAILURE", 1],
      ["d", "WAITING", 0],
    ]);
  });

  it("are counted by state, what is done first", () => {
    expect(Object.entries(statesOf(tasks))).toEqual([
      ["SUCCESS", 2],
      ["FAILURE", 1],
      ["WAITING", 1],
    ]);
    expect(doneOf(tasks)).toBe(2);
  });

  it("are looked at where one failed", () => {
    expect(focusOf(tasks)?.name).toBe("c");
  });

  it("are looked at where one asks somebody, before those that run", () => {
    const runs = attempt("e", "RUNNING_EXECUTION", null);
    const asks = attempt("d", "RUNNING_EXECUTION", null, { type: "APPROVAL" });
    const of = (...tasks: Attempt[]) => focusOf(tasksOf({ tasks, not_begun: [] } as unknown as RunPage))?.name;
    expect([of(asks, runs), of(runs), of(asks, attempt("c", "FAILURE", null))]).toEqual(["d", "e", "c"]);
  });

  it("have a critical path along what was waited for last", () => {
    expect([...criticalPath(tasks)]).toEqual(["c", "a"]);
  });

  it("are filtered by state and by a part of the name", () => {
    expect(shownTasks(tasks, "SUCCESS", "B").map((task) => task.name)).toEqual(["b"]);
  });
});

describe("values", () => {
  it("are texts, whatever the JSON is", () => {
    expect(valuesOf('{"a": 1, "b": "x"}')).toEqual({ a: "1", b: "x" });
    expect(valuesOf("no JSON")).toEqual({});
  });
});

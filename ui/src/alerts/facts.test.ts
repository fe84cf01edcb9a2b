import { expect, test } from "vitest";
import { factText, plainFacts, tableOf } from "./facts";

test("facts are read by people: units by the ends of their names", () => {
  expect(factText("took_s", 252.3, "en")).toBe("4 m 12 s");
  expect(factText("failures", 3, "en")).toBe("3");
  expect(factText("ended_at", "2025-11-20T10:00:00Z", "en")).toContain("2025");
  expect(factText("ended_at", "never", "en")).toBe("never");
  expect(factText("reason", null, "en")).toBe("–");
  expect(factText("tasks", ["a", "b"], "en")).toContain('"a"');
});

test("the result of a SQL task is a table, and no fact beside it", () => {
  const facts = {
    task: "sums",
    columns: ["day", 1],
    rows: [
      ["Mon", 3],
      ["Tue", null],
    ],
    total: 2,
  };
  expect(tableOf(facts)).toEqual({ columns: ["day", "1"], rows: facts.rows });
  expect(plainFacts(facts)).toEqual([
    ["task", "sums"],
    ["total", 2],
  ]);
  expect(tableOf({ columns: ["a"], rows: "none" })).toBeNull();
  expect(plainFacts({ columns: "a" })).toEqual([["columns", "a"]]);
});

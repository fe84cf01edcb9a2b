import { expect, test } from "vitest";
import { factText } from "./facts";

test("facts are read by people: units by the ends of their names", () => {
  expect(factText("took_s", 252.3, "en")).toBe("4 m 12 s");
  expect(factText("failures", 3, "en")).toBe("3");
  expect(factText("ended_at", "2025-11-20T10:00:00Z", "en")).toContain("2025");
  expect(factText("ended_at", "never", "en")).toBe("never");
  expect(factText("reason", null, "en")).toBe("–");
  expect(factText("tasks", ["a", "b"], "en")).toContain('"a"');
});

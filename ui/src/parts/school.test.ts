import { describe, expect, it } from "vitest";
import { schoolOf } from "./school";

describe("schoolOf", () => {
  it("puts what went well first and what has not begun last", () => {
    const school = schoolOf({
      state: "RUNNING_EXECUTION",
      states: { QUEUED: 1, RUNNING_EXECUTION: 2, SUCCESS: 3 },
      total: 8,
    });
    expect(Object.entries(school)).toEqual([
      ["SUCCESS", 3],
      ["RUNNING_EXECUTION", 2],
      ["QUEUED", 1],
      ["NOT_BEGUN", 2],
    ]);
  });
  it("shows what a success left out as skipped", () => {
    expect(schoolOf({ state: "SUCCESS", states: { SUCCESS: 2 }, total: 3 })).toEqual({ SUCCESS: 2, SKIPPED: 1 });
  });
  it("counts what skipped itself with what a success left out", () => {
    expect(schoolOf({ state: "SUCCESS", states: { SKIPPED: 1, SUCCESS: 2 }, total: 5 })).toEqual({
      SUCCESS: 2,
      SKIPPED: 3,
    });
  });
  it("shows what has begun if the definition is gone", () => {
    expect(schoolOf({ state: "SUCCESS", states: { SUCCESS: 2 } })).toEqual({ SUCCESS: 2 });
  });
});

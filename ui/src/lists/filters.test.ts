import { describe, expect, it } from "vitest";
import { filterWords, isSame, oneOf, textOf, textsOf, withValues } from "./filters";

describe("filters in an address", () => {
  it("reads one text, several, and what looks like a number", () => {
    expect(textsOf({ state: "FAILURE" }, "state")).toEqual(["FAILURE"]);
    expect(textsOf({ state: ["FAILURE", "STOP"] }, "state")).toEqual(["FAILURE", "STOP"]);
    expect(textOf({ q: 1042 }, "q")).toBe("1042");
    expect(textOf({ q: "" }, "q")).toBeUndefined();
    expect(textOf({}, "q")).toBeUndefined();
  });
  it("takes only words that it knows, in one order", () => {
    expect(oneOf({ state: ["STOP", "nonsense", "FAILURE"] }, "state", ["FAILURE", "STOP"])).toEqual([
      "FAILURE",
      "STOP",
    ]);
  });
  it("has one form for equal filters", () => {
    expect(Object.keys(withValues({ b: 1, a: [], c: undefined, aa: 2 }))).toEqual(["aa", "b"]);
    expect(isSame({ state: ["FAILURE"], since: undefined }, { state: ["FAILURE"] })).toBe(true);
    expect(isSame({ since: "24h" }, {})).toBe(false);
  });
  it("knows the place in a list from its filters", () => {
    expect(filterWords({ state: "FAILURE", cursor: "x", page: 2, row: "7" })).toEqual({ state: "FAILURE" });
  });
});

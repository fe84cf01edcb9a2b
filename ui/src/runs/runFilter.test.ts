import { describe, expect, it } from "vitest";
import { numberOf, runFilterOf } from "./runFilter";

describe("runFilterOf", () => {
  it("takes what it knows of an address", () => {
    const search = { state: "FAILURE", q: 1042, since: "24h", cursor: "x", page: 2, trigger: ["BACKFILL", "nonsense"] };
    expect(runFilterOf(search, "retail")).toEqual({
      project: "retail",
      q: "1042",
      since: "24h",
      state: ["FAILURE"],
      trigger: ["BACKFILL"],
    });
  });
  it("is empty without filters", () => expect(runFilterOf({}, null)).toEqual({}));
});

describe("numberOf", () => {
  it("says when there are more, and when it is an estimate", () => {
    expect(numberOf({ number: 1284, kind: "exact", is_more: false })).toBe("1\u2009284");
    expect(numberOf({ number: 10000, kind: "exact", is_more: true })).toBe("10\u2009000+");
    expect(numberOf({ number: 1200000, kind: "estimate", is_more: false })).toBe("~1\u2009200\u2009000");
  });
});

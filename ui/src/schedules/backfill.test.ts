import { expect, test } from "vitest";
import { bodyOf, rowsOf, wantedOf } from "./backfill";

test("an address says what is wanted; other words are left out", () => {
  expect(wantedOf({ code: 7, from: "2026-01-01", order: "DESC", parallelism: 4, skip: true, x: 1 })).toEqual({
    code: "7",
    from: "2026-01-01",
    order: "DESC",
    parallelism: 4,
    skip: true,
  });
});

test("nothing is asked before there are dates", () => {
  expect(bodyOf({ code: "7", from: "2026-01-01" }, {}, true)).toBeNull();
  expect(bodyOf({ code: "7", dates: " , " }, {}, true)).toBeNull();
  expect(bodyOf({ from: "2026-01-01", to: "2026-01-02" }, {}, true)).toBeNull();
});

test("a range and single dates become a request", () => {
  expect(bodyOf({ code: "7", from: "a", to: "b", parallelism: 4 }, { x: "1" }, false)).toMatchObject({
    from: "a",
    to: "b",
    parallelism: 4,
    dry_run: false,
    params: { x: "1" },
  });
  expect(bodyOf({ code: "7", dates: "2026-01-01, 2026-01-03" }, {}, true)).toMatchObject({
    dates: ["2026-01-01", "2026-01-03"],
    order: "ASC",
  });
});

test("each run has its chain and its place in it", () => {
  const rows = rowsOf({ chains: [["a", "b"], ["c"]], workflows: [{ code: "7", name: "w" }] });
  expect(rows.map(({ chain, step, at }) => [chain, step, at])).toEqual([
    [1, 1, "a"],
    [1, 2, "b"],
    [2, 1, "c"],
  ]);
});

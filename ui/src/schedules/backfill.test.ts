import { expect, test } from "vitest";
import { bodyOf, chainsOf, leftS, type Progress, rowsOf, wantedOf } from "./backfill";

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

const asked = { chains: [["a", "b", "c"], ["d"]], workflows: [{ code: "7", name: "w" }] };
const progress: Progress = {
  total: 4,
  done: 1,
  waiting: 0,
  is_taken: true,
  running: [{ run_id: "2", state: "RUNNING_EXECUTION", date: "b" }],
  stopped: [{ workflow: "w", date: "d", dates_left: 0, go_on: "" }],
  runs: [
    { workflow: "7", run_id: "1", state: "SUCCESS", date: "a", elapsed_s: 10 },
    { workflow: "7", run_id: "2", state: "RUNNING_EXECUTION", date: "b", elapsed_s: 4 },
  ],
};

test("each date has its run, or says that it waits or was refused", () => {
  const states = chainsOf(asked, progress).map(({ cells }) => cells.map((cell) => [cell.run, cell.state]));
  expect(states).toEqual([
    [
      ["1", "SUCCESS"],
      ["2", "RUNNING_EXECUTION"],
      [undefined, "NOT_BEGUN"],
    ],
    [[undefined, "REFUSED"]],
  ]);
  expect(chainsOf({ ...asked, chains: [["a"], ["b"]] }, progress)).toHaveLength(1);
});

test("what is left is the rest of the longest chain, by the mean of the dates that are done", () => {
  const chains = chainsOf(asked, progress);
  expect(leftS(chains, new Set(["2"]))).toBe(16);
  expect(leftS(chains, new Set())).toBeNull();
});

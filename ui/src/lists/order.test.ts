import { expect, test, vi } from "vitest";

vi.hoisted(() => vi.stubGlobal("document", { baseURI: "http://shoal/" }));
const { inOrder } = await import("./order");

test("rows are ordered by numbers or words, and those without a value come last", () => {
  const rows = [{ s: 10 }, { s: null }, { s: 9 }];
  expect(inOrder(rows, (row) => row.s).map((row) => row.s)).toEqual([9, 10, null]);
  expect(inOrder(rows, (row) => row.s, true).map((row) => row.s)).toEqual([10, 9, null]);
  expect(inOrder(["b", "a", "c"], (row) => row)).toEqual(["a", "b", "c"]);
});

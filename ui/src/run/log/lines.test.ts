import { expect, it } from "vitest";
import { isError, linesOf, plain, rowsOf } from "./lines";

const bytes = (text: string) => new TextEncoder().encode(text);

it("lines know the byte at which they begin, also after letters of several bytes", () => {
  expect(linesOf(bytes("äö\nb\n"), 100, false, true).map(({ at, text }) => [at, text])).toEqual([
    [100, "äö"],
    [105, "b"],
  ]);
});

it("the rest of a line at the begin is left out, and a line without an end is one only at the end", () => {
  expect(linesOf(bytes("rest\nb\nc"), 10, true, false).map((line) => line.text)).toEqual(["b"]);
  expect(linesOf(bytes("rest\nb\nc"), 10, true, true).map((line) => [line.text, line.isWhole])).toEqual([
    ["b", true],
    ["c", false],
  ]);
});

it("of a line that was written over the last text is shown", () => {
  expect(linesOf(bytes("10 %\r100 %\r\n"), 0, false, true)[0]?.text).toBe("100 %");
});

it("wrapped lines have rows of one height", () => {
  const lines = linesOf(bytes("abcdefgh\nx\n"), 0, false, true);
  expect(rowsOf(lines, 3).map((row) => [row.place, row.from])).toEqual([
    [0, 0],
    [0, 3],
    [0, 6],
    [1, 0],
  ]);
  expect(rowsOf(lines, null)).toHaveLength(2);
});

it("errors are seen by their words and by red", () => {
  expect(isError("ValueError: no")).toBe(true);
  expect(isError("error: no such table")).toBe(true);
  expect(isError("\u001b[31mbad\u001b[0m")).toBe(true);
  expect(isError("terrors")).toBe(false);
  expect(plain("\u001b[31mbad\u001b[0m")).toBe("bad");
});

import { expect, it } from "vitest";
import { unfoldedOf } from "./unfolded";

it("an object unfolds as JSON.stringify would write it", () => {
  const value = { a: [1, { b: 'x, {y}: "z"' }], none: [], nothing: {}, is: null };
  expect(unfoldedOf(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
});

it("long numbers keep their digits", () => {
  expect(unfoldedOf("[12345678901234567890]")).toBe("[\n  12345678901234567890\n]");
});

it("other values do not unfold", () => {
  for (const value of ["", "7", '"a"', "{", "[a]", "{}", "[]"]) expect(unfoldedOf(value)).toBeNull();
});

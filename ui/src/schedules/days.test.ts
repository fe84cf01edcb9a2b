import { expect, test } from "vitest";
import { mondayOf, plusDays } from "./days";

test("weeks begin on Monday", () => {
  expect(mondayOf("2026-11-23")).toBe("2026-11-23");
  expect(mondayOf("2026-11-22")).toBe("2026-11-16");
  expect(plusDays("2026-03-28", 2)).toBe("2026-03-30");
});

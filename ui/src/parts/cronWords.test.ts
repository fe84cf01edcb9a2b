import { expect, it } from "vitest";
import { cronWords } from "./cronWords";

it("says crontabs of five fields and of Quartz in words", () => {
  expect(cronWords("0 0 6 * * ?", "en")).toBe("At 06:00");
  expect(cronWords("@hourly", "en")).toBe("Every hour");
  expect(cronWords("0 0 6 ? * 6", "en")).toContain("Friday");
  expect(cronWords("0 6 * * 6", "en")).toContain("Saturday");
  expect(cronWords("0 0 6 * * ?", "zh")).toContain("06:00");
});

it("says what has no words as it is written", () => {
  expect(cronWords("nonsense", "en")).toBe("nonsense");
});

import { describe, expect, it } from "vitest";
import { reported } from "./report";

describe("reported", () => {
  it("says how far of how much, or percent", () => {
    expect(reported({ done: 12, total: 40, percent: 30, text: "epoch" })).toBe("epoch 12/40");
    expect(reported({ done: 68, percent: 68, text: "" })).toBe("68 %");
  });
});

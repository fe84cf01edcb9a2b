import { describe, expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { barsOf, totals } from "./bars";

const histogram: Schemas["HistogramAnswer"] = {
  since: "2026-11-20T10:00:00Z",
  until: "2026-11-20T11:00:00Z",
  bar_s: 600,
  total: 6,
  is_complete: true,
  bars: [
    { at: "2026-11-20T10:10:00.002Z", total: 4, states: { SUCCESS: 2, FAILURE: 1, STOP: 1 } },
    { at: "2026-11-20T10:50:00Z", total: 2, states: { RUNNING_EXECUTION: 1, SERIAL_WAIT: 1 } },
  ],
};

describe("barsOf", () => {
  it("has a bar for each part of the time, also without runs", () => {
    const bars = barsOf(histogram);
    expect(bars.map((bar) => bar.total)).toEqual([0, 4, 0, 0, 0, 2]);
    expect(bars[1]?.parts).toEqual({ good: 2, active: 0, ended: 1, failed: 1 });
    expect(new Date(bars[1]?.from ?? 0).toISOString()).toBe("2026-11-20T10:10:00.000Z");
  });
  it("counts by part", () => {
    expect(totals(barsOf(histogram))).toEqual({ good: 2, active: 2, ended: 1, failed: 1 });
  });
});

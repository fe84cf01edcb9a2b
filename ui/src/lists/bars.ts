/** The bars of a histogram, computed: all of them, also those without a run, each with its parts. */
import type { Schemas } from "@/api/client";

type Histogram = Schemas["HistogramAnswer"];

/** What a part of a bar stands for; the order is from the bottom up. */
export const PARTS = ["good", "active", "ended", "failed"] as const;
export type Part = (typeof PARTS)[number];

const PART_OF: Record<string, Part> = { SUCCESS: "good", FAILURE: "failed", STOP: "ended", PAUSE: "ended" };

export interface Bar {
  /** Begin and end, in milliseconds since 1970. */
  from: number;
  to: number;
  total: number;
  parts: Record<Part, number>;
}

/** One bar for each part of the time, oldest first. */
export function barsOf(histogram: Histogram): Bar[] {
  const since = Date.parse(histogram.since);
  const each = histogram.bar_s * 1000;
  const amount = Math.max(1, Math.round((Date.parse(histogram.until) - since) / each));
  const bars = Array.from({ length: amount }, (_, place) => ({
    from: since + place * each,
    to: since + (place + 1) * each,
    total: 0,
    parts: { good: 0, active: 0, ended: 0, failed: 0 },
  }));
  for (const found of histogram.bars) {
    const bar = bars[Math.min(amount - 1, Math.max(0, Math.round((Date.parse(found.at) - since) / each)))];
    if (bar === undefined) continue;
    bar.total += found.total;
    for (const [state, count] of Object.entries(found.states)) bar.parts[partOf(state)] += count;
  }
  return bars;
}

/** The part of a bar that runs of a state are in. */
export function partOf(state: string): Part {
  return PART_OF[state] ?? "active";
}

/** How many runs of each part there are in all bars. */
export function totals(bars: Bar[]): Record<Part, number> {
  const sums = { good: 0, active: 0, ended: 0, failed: 0 };
  for (const bar of bars) for (const part of PARTS) sums[part] += bar.parts[part];
  return sums;
}

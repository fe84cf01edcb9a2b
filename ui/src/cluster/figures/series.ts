/** Figures of the cluster as small charts: which there are, and what of them is drawn. Pure. */
import type { Schemas } from "@/api/client";

export type Figures = Schemas["FiguresAnswer"];
type Name = Exclude<keyof Figures, "at">;

export interface Chart {
  name: string;
  /** One or two lines; the first is the main one. */
  lines: readonly Name[];
  unit: "perSecond" | "number" | "seconds";
}

/** The figures that matter, in the order of a task's way: asked for, taken, waiting, running. */
export const CHARTS: readonly Chart[] = [
  { name: "tasks", lines: ["started_per_s", "ended_per_s"], unit: "perSecond" },
  { name: "commands", lines: ["commands_per_s"], unit: "perSecond" },
  { name: "lag", lines: ["lag_s"], unit: "seconds" },
  { name: "queue", lines: ["queued", "running"], unit: "number" },
  { name: "wait", lines: ["oldest_queued_s"], unit: "seconds" },
  { name: "runs", lines: ["runs", "commands"], unit: "number" },
];

export const KEPT_MS = 3_600_000;
/** Two samples that are further apart than so many of their usual distances are not joined by a line. */
const GAP = 3;
export const WIDTH = 200;
export const HEIGHT = 36;
const EDGE = 2;

/** What was known with what came, oldest first, each once, of the last hour. */
export function joined(known: readonly Figures[], came: readonly Figures[]): Figures[] {
  const byTime = new Map([...known, ...came].map((each) => [each.at, each]));
  const all = [...byTime.values()].sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  const last = all.at(-1);
  if (last === undefined) return [];
  const from = Date.parse(last.at) - KEPT_MS;
  return all.filter((each) => Date.parse(each.at) >= from);
}

/** The last known value of a line; null = none. A figure that is left out in the last sample is not known now. */
export function lastOf(samples: readonly Figures[], name: Name): number | null {
  return samples.at(-1)?.[name] ?? null;
}

/** The smallest and the largest value of a line; null = no value. */
export function rangeOf(samples: readonly Figures[], name: Name): [number, number] | null {
  const values = samples.map((each) => each[name]).filter((each) => each != null);
  return values.length === 0 ? null : [Math.min(...values), Math.max(...values)];
}

/** The top of a chart: a round number that is not below any value of its lines. */
export function topOf(samples: readonly Figures[], lines: readonly Name[]): number {
  const most = Math.max(0, ...lines.map((name) => rangeOf(samples, name)?.[1] ?? 0));
  if (most === 0) return 1;
  const step = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((each) => each * step).find((each) => each >= most) ?? most;
}

/** A line as an SVG path within WIDTH x HEIGHT: broken where nothing is known. */
export function pathOf(samples: readonly Figures[], name: Name, top: number, everyS: number): string {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) return "";
  const from = Date.parse(first.at);
  const span = Math.max(1, Date.parse(last.at) - from);
  let path = "";
  let before: number | null = null;
  for (const sample of samples) {
    const value = sample[name];
    const at = Date.parse(sample.at);
    if (value == null) {
      before = null;
      continue;
    }
    const x = ((at - from) / span) * WIDTH;
    const y = HEIGHT - EDGE - (value / top) * (HEIGHT - 2 * EDGE);
    const isJoined = before !== null && at - before <= GAP * everyS * 1000;
    path += `${isJoined ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    before = at;
  }
  return path;
}

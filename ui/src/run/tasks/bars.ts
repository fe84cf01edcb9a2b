/** When the attempts of a task waited, were queued and ran, as bars over the time of the run. */
import { dueIn, isFailed, type TaskView } from "../model";

export type BarKind = "wait" | "queue" | "ok" | "bad" | "lost" | "halted" | "skipped" | "run" | "retry" | "expected";

export interface Bar {
  kind: BarKind;
  /** In milliseconds since 1970. */
  from: number;
  to: number;
  /** The attempt whose bar it is; none of a time before the first. */
  attempt: number | null;
}

export interface Axis {
  from: number;
  to: number;
  now: number | null;
}

const STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200];
const TICKS_MAX = 4;

/** The bars of a task. `begin` is when its run began, `readAt` when the attempts were read. */
export function barsOf(task: TaskView, begin: number, readAt: number, now: number): Bar[] {
  const bars: Bar[] = [];
  let before: number | null = null;
  for (const attempt of task.attempts) {
    const queued = Date.parse(attempt.queued_at);
    const due = dueIn(attempt, readAt, now);
    const add = (kind: BarKind, from: number, to: number) => {
      if (to > from) bars.push({ kind, from, to, attempt: attempt.attempt });
    };
    if (due !== null) {
      add(attempt.wait_reason === "RETRY" ? "retry" : "wait", before ?? queued, now + due * 1000);
      break;
    }
    if (before !== null) add("retry", before, queued);
    else if (queued > begin) bars.push({ kind: "wait", from: begin, to: queued, attempt: null });
    const started = attempt.started_at == null ? null : Date.parse(attempt.started_at);
    const ended = attempt.ended_at == null ? null : Date.parse(attempt.ended_at);
    add("queue", queued, started ?? ended ?? now);
    if (started !== null) add(ended === null ? "run" : endOf(attempt.state), started, ended ?? now);
    before = ended;
  }
  return bars;
}

function endOf(state: string): BarKind {
  if (state === "NEED_FAULT_TOLERANCE") return "lost";
  if (state === "KILL" || state === "PAUSE") return "halted";
  if (state === "SKIPPED") return "skipped";
  return isFailed(state) ? "bad" : "ok";
}

/** The time that the bars span; an unfinished run gets room for the time left. */
export function axisOf(tasks: TaskView[], begin: number, leftS: number | null, now: number | null): Axis {
  let from = begin;
  let to = begin + 100;
  for (const task of tasks)
    for (const attempt of task.attempts) {
      from = Math.min(from, Date.parse(attempt.queued_at));
      if (attempt.ended_at != null) to = Math.max(to, Date.parse(attempt.ended_at));
    }
  if (now !== null) to = Math.max(to, now + Math.max((leftS ?? 0) * 1000, (now - from) * 0.08));
  return { from, to, now };
}

/** Where lines stand on an axis: whole steps, few enough to be read. Of seconds since its begin. */
export function ticksOf(axis: Axis): number[] {
  const length = (axis.to - axis.from) / 1000;
  const step = STEPS_S.find((each) => length / each <= TICKS_MAX) ?? Math.ceil(length / TICKS_MAX / 86_400) * 86_400;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, place) => Math.round(place * step * 10) / 10);
}

/** Such as `+15 s`, `+2 min` or `+1.5 h`: steps are whole in their unit. */
export function tickText(seconds: number): string {
  if (seconds < 60) return `+${seconds} s`;
  return seconds < 3600 ? `+${seconds / 60} min` : `+${Math.round(seconds / 360) / 10} h`;
}

/** A moment as a share of the axis, in percent. */
export function placeOf(axis: Axis, at: number): number {
  return Math.min(100, Math.max(0, ((at - axis.from) / (axis.to - axis.from)) * 100));
}

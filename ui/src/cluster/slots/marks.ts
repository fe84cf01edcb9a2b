/** The marks of changes on the line of time. */
import type { Change, Reason } from "./story";

const MARKS: Partial<Record<Reason, string>> = { LOST: "DEAD", FENCED: "DEAD", LEFT: "STOP", BUSY: "BUSY" };

/** The state whose mark a change has: that of its gravest part. */
export function markOf(change: Change): string {
  const reasons = change.changes.map((each) => each.reason);
  for (const reason of ["FENCED", "LOST", "LEFT", "BUSY"] as const)
    if (reasons.includes(reason)) return MARKS[reason] ?? "NORMAL";
  return "NORMAL";
}

/** Changes nearer to each other than this share of the line are one mark. */
const NEAR = 0.012;
/** A word needs so much of the line. */
const WORD = 0.14;

interface Marked {
  change: Change;
  count: number;
  /** Where its words stand; null = there is no room for them. */
  word: "middle" | "end" | null;
}

/** One mark for changes that are near each other, the gravest of them; words where there is room. */
export function marksOf(changes: Change[], fromMs: number, endMs: number, spanMs: number): Marked[] {
  const marks: Marked[] = [];
  for (const change of changes) {
    if (change.atMs < fromMs || change.atMs > endMs) continue;
    const last = marks.at(-1);
    if (last !== undefined && change.atMs - last.change.atMs < NEAR * spanMs) {
      last.count++;
      if (markOf(last.change) === "NORMAL") last.change = change;
    } else marks.push({ change, count: 1, word: null });
  }
  let free = Number.POSITIVE_INFINITY;
  for (const mark of [...marks].reverse()) {
    const share = (mark.change.atMs - fromMs) / spanMs;
    const isAtEnd = share + WORD / 2 > 1;
    const to = isAtEnd ? share + 0.01 : share + WORD / 2;
    if (share < WORD || to > free) continue;
    mark.word = isAtEnd ? "end" : "middle";
    free = to - WORD;
  }
  return marks;
}

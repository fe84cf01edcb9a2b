/** The tasks of a run for `School`, in the order in which the marks stand. */
import type { Schemas } from "@/api/client";

/** What went well first, then what needs a look, what moves, and what has not begun. */
const ORDER = [
  "SUCCESS",
  "FORCED_SUCCESS",
  "FAILURE",
  "KILL",
  "STOP",
  "PAUSE",
  "NEED_FAULT_TOLERANCE",
  "RUNNING_EXECUTION",
  "DISPATCH",
  "QUEUED",
  "DELAY_EXECUTION",
];

type Progress = Pick<Schemas["RunProgressAnswer"], "state" | "states" | "total">;

/** How many tasks are in each state, with those that have not begun, or were skipped by a success, at the end. */
export function schoolOf({ state, states, total }: Progress): Record<string, number> {
  const begun = Object.values(states).reduce((sum, count) => sum + count, 0);
  const place = (state: string) => (ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length);
  const waiting = Math.max(0, (total ?? begun) - begun);
  const without = state === "SUCCESS" ? "SKIPPED" : "NOT_BEGUN";
  const all = waiting > 0 ? { ...states, [without]: waiting + (states[without as "SKIPPED"] ?? 0) } : states;
  return Object.fromEntries(Object.entries(all).sort(([one], [other]) => place(one) - place(other)));
}

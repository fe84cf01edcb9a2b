/** Which runs are selected on a page of the list, and what can be done with them. */
import type { Schemas } from "@/api/client";
import type { Run } from "./queries";

export type Selection = ReadonlySet<string>;
export type Action = Schemas["BulkAction"];

/** With one more, or without one that was selected. */
export function toggled(selection: Selection, id: string): Selection {
  const next = new Set(selection);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** The runs that something is done with: by their ids, or all that match a filter. */
export type Target = { ids: string[] } | { filter: Schemas["RunFilter"] };

/** In the order of the buttons. */
export const ACTIONS: readonly Action[] = ["RERUN_FAILED", "RERUN", "STOP", "PAUSE", "RESUME"];

/** The most likely rerun of a run: what failed of it, or all of it. */
export function rerunOf(run: Run): Action {
  return run.state === "SUCCESS" ? "RERUN" : "RERUN_FAILED";
}

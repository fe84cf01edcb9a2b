/** Which runs are meant, as an address says it. Pure. */
import type { Schemas } from "@/api/client";
import { oneOf, type Search, textOf, textsOf, withValues } from "@/lists/filters";
import { count } from "@/parts/time";

export type RunFilter = Schemas["RunFilter"];
type State = Schemas["WorkflowState"];
type Trigger = Schemas["Trigger"];

export const STATES: readonly State[] = [
  "RUNNING_EXECUTION",
  "SUCCESS",
  "FAILURE",
  "STOP",
  "PAUSE",
  "READY_STOP",
  "READY_PAUSE",
  "SERIAL_WAIT",
  "FAILOVER",
];
export const ACTIVE: readonly State[] = ["RUNNING_EXECUTION", "READY_PAUSE", "READY_STOP", "FAILOVER", "SERIAL_WAIT"];
export const TRIGGERS: readonly Trigger[] = ["HAND", "SCHEDULE", "BACKFILL", "PARENT", "TASK", "EVENT"];

/** The filter that an address means, within the project of the top bar. */
export function runFilterOf(search: Search, project: string | null): RunFilter {
  return withValues({
    project: project ?? undefined,
    state: oneOf(search, "state", STATES),
    trigger: oneOf(search, "trigger", TRIGGERS),
    parameter: textsOf(search, "parameter"),
    workflow: textOf(search, "workflow"),
    master: textOf(search, "master"),
    worker: textOf(search, "worker"),
    q: textOf(search, "q"),
    serial_key: textOf(search, "serial_key"),
    since: textOf(search, "since"),
    started_after: textOf(search, "started_after"),
    started_before: textOf(search, "started_before"),
    ...(textOf(search, "children") === "true" && { children: true }),
    // What has a default in the API may be left out, which the generated type of an answer does not say.
  }) as RunFilter;
}

/** A count in words: `1 284`, `10 000+`, `~1 200 000`. */
export function numberOf(found: Schemas["CountAnswer"]): string {
  return `${found.kind === "estimate" ? "~" : ""}${count(found.number)}${found.is_more ? "+" : ""}`;
}

/** How a run is started, as its fields have it: by the names of the API, "" = as the workflow says. */
import type { Schemas } from "@/api/client";

const ENDS = ["NONE", "FAILURE", "SUCCESS", "ALL"] as const;
export const PRIORITIES = ["HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"] as const;
export const STRATEGIES = ["CONTINUE", "END"] as const;
/** The options that have a few values. */
export const CHOICES: Readonly<Record<string, readonly string[]>> = {
  priority: PRIORITIES,
  failure_strategy: STRATEGIES,
  warning_type: ENDS,
};
export const OPTIONS = [
  "priority",
  "failure_strategy",
  "worker_group",
  "environment",
  "warning_type",
  "alert_group",
] as const;

export type Option = (typeof OPTIONS)[number];
export type StartOptions = Record<Option, string>;

/** The options of a schedule, or of what else has some. */
export function optionsOf(found: { [Name in Option]?: string | null } = {}): StartOptions {
  return Object.fromEntries(OPTIONS.map((name) => [name, found[name] ?? ""])) as StartOptions;
}

/** What the API gets of them. */
export function sentOptions(given: StartOptions) {
  const sent = Object.fromEntries(OPTIONS.map((name) => [name, given[name].trim() || null]));
  return sent as Pick<Schemas["StartRun"], Option>;
}

/** A refused command while it is corrected: what it asked for as fields, and what is said of them that changed. */
import { type Pair, pairsOf, valuesOf } from "@/forms/Pairs";
import { PRIORITIES, STRATEGIES } from "@/forms/startOptions";
import type { Correction, ErrorCommand } from "./queries";

export interface Draft {
  workflow_code: string | null;
  version: number | string;
  params: Pair[];
  priority: string;
  failure_strategy: string;
  worker_group: string;
  environment: string;
  tasks: string;
}

/** The fields as the command has them; a value that is none of those allowed is shown as not given. */
export function startOf(error: ErrorCommand): Draft {
  return {
    workflow_code: error.workflow_code ?? null,
    version: error.workflow_version ?? "",
    params: pairsOf(startParams(error.params) ?? {}),
    priority: known(PRIORITIES, error.priority) ?? "",
    failure_strategy: known(STRATEGIES, error.failure_strategy) ?? "",
    worker_group: error.worker_group ?? "",
    environment: "",
    tasks: namesOf(error.start_tasks).join(", "),
  };
}

function known<T extends string>(all: readonly T[], given: string | null | undefined): T | null {
  return all.find((each) => each === given) ?? null;
}

/** The values with which the run was to start; null = they are no JSON object of texts. */
export function startParams(params: string): Record<string, string> | null {
  try {
    const all: unknown = JSON.parse(params);
    if (all === null || typeof all !== "object") return null;
    const given: unknown = (all as Record<string, unknown>).start_params ?? {};
    if (given === null || typeof given !== "object" || Array.isArray(given)) return null;
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
  } catch {
    return null;
  }
}

function namesOf(written: string | null | undefined): string[] {
  return (written ?? "")
    .replace(/[[\]"]/g, "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** Only what differs: all else is as it was. */
export function correctionOf(draft: Draft, before: Draft): Correction {
  const values = valuesOf(draft.params);
  const old = valuesOf(before.params);
  const changed = Object.entries(values).filter(([name, value]) => old[name] !== value);
  const gone = Object.keys(old).filter((name) => !(name in values));
  const tasks = namesOf(draft.tasks);
  return {
    ...(draft.workflow_code !== before.workflow_code && { workflow_code: draft.workflow_code }),
    ...(draft.version !== before.version && draft.version !== "" && { version: Number(draft.version) }),
    ...(draft.priority !== before.priority && { priority: known(PRIORITIES, draft.priority) }),
    ...(draft.failure_strategy !== before.failure_strategy && {
      failure_strategy: known(STRATEGIES, draft.failure_strategy),
    }),
    ...(draft.worker_group.trim() !== before.worker_group && { worker_group: draft.worker_group.trim() || null }),
    ...(draft.environment.trim() !== "" && { environment: draft.environment.trim() }),
    params: { ...Object.fromEntries(changed), ...Object.fromEntries(gone.map((name) => [name, null])) },
    tasks: draft.tasks === before.tasks ? [] : tasks,
  };
}

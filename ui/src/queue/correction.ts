/** A refused command while it is corrected: what it asked for as fields, and what is said of them that changed. */
import { type Pair, pairsOf, valuesOf } from "@/forms/Pairs";
import type { Correction, ErrorCommand } from "./queries";

export const PRIORITIES = ["HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"] as const;
export const STRATEGIES = ["CONTINUE", "END"] as const;

export interface Draft {
  code: string | null;
  version: number | "";
  params: Pair[];
  /** Its parameters are no JSON object of texts. */
  isUnreadable: boolean;
  priority: (typeof PRIORITIES)[number] | null;
  strategy: (typeof STRATEGIES)[number] | null;
  group: string;
  environment: string;
  tasks: string;
}

/** The fields as the command has them; a value that is none of those allowed is shown as not given. */
export function startOf(error: ErrorCommand): Draft {
  const params = startParams(error.params);
  return {
    code: error.workflow_code ?? null,
    version: error.workflow_version ?? "",
    params: pairsOf(params ?? {}),
    isUnreadable: params === null,
    priority: PRIORITIES.find((each) => each === error.priority) ?? null,
    strategy: STRATEGIES.find((each) => each === error.failure_strategy) ?? null,
    group: error.worker_group ?? "",
    environment: "",
    tasks: namesOf(error.start_tasks).join(", "),
  };
}

/** The values with which the run was to start; null = they cannot be read. */
function startParams(params: string): Record<string, string> | null {
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
    ...(draft.code !== before.code && { workflow_code: draft.code }),
    ...(draft.version !== before.version && draft.version !== "" && { version: draft.version }),
    ...(draft.priority !== before.priority && { priority: draft.priority }),
    ...(draft.strategy !== before.strategy && { failure_strategy: draft.strategy }),
    ...(draft.group.trim() !== before.group && { worker_group: draft.group.trim() || null }),
    ...(draft.environment.trim() !== "" && { environment: draft.environment.trim() }),
    params: { ...Object.fromEntries(changed), ...Object.fromEntries(gone.map((name) => [name, null])) },
    tasks: draft.tasks === before.tasks ? [] : tasks,
  };
}

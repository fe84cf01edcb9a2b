/** A schedule while it is edited, as the fields have it. */
import { type Pair, pairsOf, valuesOf } from "@/forms/Pairs";
import type { Change, Detail } from "./queries";

export const MISFIRES = ["FIRE_ONCE", "FIRE_ALL", "SKIP"] as const;
export const PRIORITIES = ["HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"] as const;
export const STRATEGIES = ["CONTINUE", "END"] as const;
const GRACE_S = 60;

export interface Draft {
  code: string | null;
  cron: string;
  time_zone: string;
  start: string;
  end: string;
  misfire: (typeof MISFIRES)[number];
  grace_s: number;
  state: "ONLINE" | "OFFLINE";
  params: Pair[];
  priority: string | null;
  failure_strategy: string | null;
  worker_group: string;
  environment: string;
}

/** What the fields of a new schedule have at first. */
export function newDraft(code: string | null, zone: string): Draft {
  return {
    code,
    cron: "0 0 5 * * ?",
    time_zone: zone,
    start: "",
    end: "",
    misfire: "FIRE_ONCE",
    grace_s: GRACE_S,
    state: "ONLINE",
    params: [],
    priority: null,
    failure_strategy: null,
    worker_group: "",
    environment: "",
  };
}

/** What the fields have of a schedule that exists. */
export function draftOf(found: Detail): Draft {
  return {
    code: found.workflow_code,
    cron: found.crontab,
    time_zone: found.time_zone,
    start: localTime(found.start_time, found.time_zone),
    end: localTime(found.end_time, found.time_zone),
    misfire: MISFIRES.find((each) => each === found.misfire) ?? "FIRE_ONCE",
    grace_s: found.misfire_grace_s ?? GRACE_S,
    state: found.state,
    params: pairsOf(found.params),
    priority: found.priority ?? null,
    failure_strategy: found.failure_strategy ?? null,
    worker_group: found.worker_group ?? "",
    environment: found.environment ?? "",
  };
}

/** A moment as a field for date and time has it, in a zone. */
export function localTime(at: string | null | undefined, zone: string): string {
  if (at == null) return "";
  const parts = new Intl.DateTimeFormat("sv", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
  return parts.format(new Date(at)).replace(" ", "T");
}

/** What the API gets of a draft, without unchanged fields. */
export function changesOf(draft: Draft, before: Draft): Change {
  const was = sentOf(before);
  const changed: Partial<Change> = Object.fromEntries(
    Object.entries(sentOf(draft)).filter(([name, value]) => value !== was[name as keyof typeof was]),
  );
  const params = valuesOf(draft.params);
  const old = valuesOf(before.params);
  return {
    ...changed,
    again: false,
    params: Object.fromEntries(Object.entries(params).filter(([name, value]) => old[name] !== value)),
    without_params: Object.keys(old).filter((name) => !(name in params)),
  };
}

/** What the API gets of a draft, except its parameters. */
export function sentOf(draft: Draft) {
  return {
    cron: draft.cron.trim(),
    time_zone: draft.time_zone,
    start_time: draft.start || null,
    end_time: draft.end || null,
    misfire: draft.misfire,
    misfire_grace_s: draft.grace_s,
    state: draft.state,
    priority: draft.priority as Change["priority"],
    failure_strategy: draft.failure_strategy as Change["failure_strategy"],
    worker_group: draft.worker_group.trim() || null,
    environment: draft.environment.trim() || null,
  };
}

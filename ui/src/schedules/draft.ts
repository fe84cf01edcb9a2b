/** A schedule while it is edited, as the fields have it. */
import { type Pair, pairsOf, valuesOf } from "@/forms/Pairs";
import { optionsOf, type StartOptions, sentOptions } from "@/forms/startOptions";
import type { Change, Detail } from "./queries";

export const MISFIRES = ["FIRE_ONCE", "FIRE_ALL", "SKIP"] as const;
const GRACE_S = 60;

export interface Draft extends StartOptions {
  code: string | null;
  cron: string;
  time_zone: string;
  start_time: string;
  end_time: string;
  misfire: (typeof MISFIRES)[number];
  grace_s: number;
  state: "ONLINE" | "OFFLINE";
  params: Pair[];
}

/** What the fields of a new schedule have at first. */
export function newDraft(code: string | null, zone: string): Draft {
  return {
    code,
    cron: "0 0 5 * * ?",
    time_zone: zone,
    start_time: "",
    end_time: "",
    misfire: "FIRE_ONCE",
    grace_s: GRACE_S,
    state: "ONLINE",
    params: [],
    ...optionsOf(),
  };
}

/** What the fields have of a schedule that exists. */
export function draftOf(found: Detail): Draft {
  return {
    code: found.workflow_code,
    cron: found.crontab,
    time_zone: found.time_zone,
    start_time: localTime(found.start_time, found.time_zone),
    end_time: localTime(found.end_time, found.time_zone),
    misfire: MISFIRES.find((each) => each === found.misfire) ?? "FIRE_ONCE",
    grace_s: found.misfire_grace_s ?? GRACE_S,
    state: found.state,
    params: pairsOf(found.params),
    ...optionsOf(found),
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
    start_time: draft.start_time || null,
    end_time: draft.end_time || null,
    misfire: draft.misfire,
    misfire_grace_s: draft.grace_s,
    state: draft.state,
    ...sentOptions(draft),
  };
}

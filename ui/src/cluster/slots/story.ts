/**
 * What happened to the slots: membership changes and commands, as rows of the database tell it. Whatever the picture
 * shows at a time is computed from it, so that live, replay and scrubbing are the same.
 */
import type { Schemas } from "@/api/client";

export type Kind = "start" | "schedule" | "backfill" | "failover" | "other";

export interface Command {
  id: string;
  kind: Kind;
  bornMs: number;
  /** When a master took it; null = none has yet. */
  takenMs: number | null;
  /** The epoch of that master. */
  master: string | null;
  isRefused: boolean;
  runId: string | null;
}

export interface Member {
  epoch: string;
  name: string;
  slot: number;
}

export type Reason = Schemas["SlotReason"];

export interface Change {
  number: number;
  atMs: number;
  members: Member[];
  changes: { epoch: string; name: string; reason: Reason }[];
}

export interface Story {
  idStep: bigint;
  /** Oldest first. */
  changes: Change[];
  /** By the time at which they came. */
  commands: Command[];
  /** There were more commands than are known: rates are too low. */
  isCut: boolean;
}

const KINDS: Record<string, Kind> = {
  START_PROCESS: "start",
  SCHEDULER: "schedule",
  COMPLEMENT_DATA: "backfill",
  RECOVER_TOLERANCE_FAULT_PROCESS: "failover",
};

const GONE: Reason[] = ["LOST", "FENCED", "LEFT"];

/** Whether a master that lost its slot so is gone for good. */
export function isEnd(reason: Reason): boolean {
  return GONE.includes(reason);
}

/** How long a master that is gone keeps its place in the picture. */
export const GONE_SHOWN_MS = 12_000;
const RATE_MS = 5_000;

export function commandOf(answer: Schemas["ArrivalAnswer"]): Command {
  return {
    id: answer.id,
    kind: KINDS[answer.type] ?? "other",
    bornMs: Date.parse(answer.created_at),
    takenMs: answer.handled_at == null ? null : Date.parse(answer.handled_at),
    master: answer.master ?? null,
    isRefused: answer.outcome === "ERROR",
    runId: answer.run_id ?? null,
  };
}

export function changeOf(answer: Schemas["SlotChangeAnswer"]): Change {
  return { ...answer, atMs: Date.parse(answer.at), members: [...answer.members], changes: [...answer.changes] };
}

/** The commands of both lists, the newer word about each, by the time at which they came; none older than `fromMs`. */
export function merged(known: Command[], news: Command[], fromMs: number): Command[] {
  const byId = new Map(known.map((each) => [each.id, each]));
  for (const each of news) byId.set(each.id, each);
  return [...byId.values()]
    .filter((each) => each.takenMs === null || Math.max(each.bornMs, each.takenMs) >= fromMs)
    .sort((one, other) => one.bornMs - other.bornMs || (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
}

/** The place of the change that is in force at a time; -1 before the first one that is known. */
export function placeAt(changes: Change[], ms: number): number {
  let place = -1;
  while (place + 1 < changes.length && (changes[place + 1]?.atMs ?? Number.POSITIVE_INFINITY) <= ms) place++;
  return place;
}

/** The slot to which a command belongs among so many. */
export function slotOf(id: string, idStep: bigint, total: number): number {
  return total === 0 ? -1 : Number((BigInt(id) / idStep) % BigInt(total));
}

export interface MasterAt {
  epoch: string;
  name: string;
  /** null: it has none. */
  slot: number | null;
  total: number;
  /** Why it no longer has one; null = it has one. */
  gone: Reason | null;
  goneMs: number | null;
  /** When it got its slot; null = it had it when the known time began. */
  cameMs: number | null;
  perS: number;
  waiting: number;
}

/** The masters at a time, oldest first, which is the order of slots; with those that went moments before. */
export function mastersAt(story: Story, ms: number): MasterAt[] {
  const place = placeAt(story.changes, ms);
  const now = story.changes[place];
  if (now === undefined) return [];
  const total = now.members.length;
  const found = new Map<string, MasterAt>();
  for (const { epoch, name, slot } of now.members)
    found.set(epoch, { epoch, name, slot, total, gone: null, goneMs: null, cameMs: null, perS: 0, waiting: 0 });
  for (let each = place; each >= 0; each--) {
    const change = story.changes[each];
    if (change === undefined || change.atMs < ms - GONE_SHOWN_MS) break;
    for (const { epoch, name, reason } of change.changes) {
      const master = found.get(epoch);
      if (master !== undefined) master.cameMs ??= master.gone === null ? change.atMs : null;
      else if (isEnd(reason) || reason === "BUSY")
        found.set(epoch, {
          ...{ epoch, name, slot: null, total, gone: reason, goneMs: change.atMs, cameMs: null, perS: 0, waiting: 0 },
        });
    }
  }
  for (const command of story.commands) {
    if (command.bornMs > ms) continue;
    if (command.takenMs !== null && command.takenMs <= ms) {
      const taker = command.takenMs > ms - RATE_MS && command.master !== null ? found.get(command.master) : undefined;
      if (taker !== undefined) taker.perS += 1000 / RATE_MS;
    } else {
      const owner = now.members[slotOf(command.id, story.idStep, total)];
      const master = owner && found.get(owner.epoch);
      if (master !== undefined) master.waiting++;
    }
  }
  return [...found.values()].sort((one, other) => (BigInt(one.epoch) < BigInt(other.epoch) ? -1 : 1));
}

/** How many commands came within a second, over the last seconds. */
export function arrivingPerS(story: Story, ms: number): number {
  const came = story.commands.filter((each) => each.bornMs <= ms && each.bornMs > ms - RATE_MS);
  return (came.length * 1000) / RATE_MS;
}

/** The middle of the times from insert to the master that took it, of commands taken lately; null = there was none. */
export function usualWaitMs(story: Story, ms: number): number | null {
  const waits = story.commands
    .filter((each) => each.takenMs !== null && each.takenMs <= ms && each.takenMs > ms - 6 * RATE_MS)
    .map((each) => Math.max(0, (each.takenMs ?? 0) - each.bornMs))
    .sort((one, other) => one - other);
  return waits[Math.floor(waits.length / 2)] ?? null;
}

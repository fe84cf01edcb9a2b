/**
 * The picture of the slots as a pure function of time: lanes, dots and swimming runs with their places, for a canvas of
 * a size. A dot needs `TRANSIT_MS` for its way, so that an eye can follow; the claim itself takes milliseconds. One that
 * is not taken when it arrives waits, hollow, before its master.
 */
import {
  type Change,
  type Command,
  GONE_SHOWN_MS,
  isEnd,
  type Kind,
  type MasterAt,
  mastersAt,
  placeAt,
  type Story,
  slotOf,
} from "./story";

export const TRANSIT_MS = 3_600;
const WAVE_MS = 1_100;
const SWAP_MS = 320;
const MOVE_MS = 450;
const SWIM_MS = 950;
const LEAVE_MS = 350;
const QUEUE_STEP = 13;
const FENCED_BEFORE_MS = 3_000;
/** Above it a lane is a stream whose width is its rate. */
export const DOTS_PER_S_MAX = 50;

export interface Size {
  width: number;
  /** Between the left edge and the beginning of the lanes. */
  left: number;
  /** From the end of the lanes to the right edge: the cards. */
  right: number;
  pitch: number;
  top: number;
}

export interface Lane {
  y: number;
  /** 0 to 1: how visible. */
  share: number;
  endX: number;
  label: string | null;
  slot: number | null;
  isGoing: boolean;
  perS: number;
}

export interface Dot {
  id: string;
  x: number;
  y: number;
  kind: Kind;
  shape: "round" | "hollow" | "diamond";
}

export interface Swimmer {
  x: number;
  y: number;
  angle: number;
}

export interface Row extends MasterAt {
  /** The middle of its lane and card. */
  y: number;
  /** 0 to 1: how much of its place it has; less while it comes or goes. */
  share: number;
}

export interface Scene {
  source: { x: number; y: number };
  split: number;
  end: number;
  height: number;
  rows: Row[];
  lanes: Lane[];
  dots: Dot[];
  swimmers: Swimmer[];
  isStream: boolean;
}

export function ease(x: number): number {
  const u = Math.max(0, Math.min(1, x));
  return u < 0.5 ? 4 * u ** 3 : 1 - (2 - 2 * u) ** 3 / 2;
}

/** The masters at a time with their places: one that came or is going has a part of a place. */
export function rowsAt(story: Story, ms: number, size: Size): { rows: Row[]; height: number } {
  let y = size.top;
  const rows = mastersAt(story, ms).map((master) => {
    const came = master.cameMs === null ? 1 : ease((ms - master.cameMs) / MOVE_MS);
    const went = master.goneMs === null ? 1 : 1 - ease((ms - master.goneMs - GONE_SHOWN_MS + MOVE_MS) / MOVE_MS);
    const share = Math.min(came, went);
    const row = { ...master, y: y + (size.pitch / 2) * share, share };
    y += size.pitch * share;
    return row;
  });
  return { rows, height: y };
}

/** Everything that is to be drawn at a time. */
export function sceneAt(story: Story, ms: number, size: Size): Scene {
  const { rows, height } = rowsAt(story, ms, size);
  const start = size.left;
  const end = size.width - size.right;
  const split = start + Math.min(104, (end - start) * 0.22);
  const middle = rows.length === 0 ? size.top : ((rows[0]?.y ?? 0) + (rows.at(-1)?.y ?? 0)) / 2;
  const yOf = new Map(rows.map((row) => [row.epoch, row.y]));
  const far = (x: number) => Math.max(0, (end - x) / (end - start));
  const recent = recentChanges(story, ms);
  const perS = rows.reduce((sum, row) => sum + row.perS, 0);
  const isStream = story.isCut || perS > DOTS_PER_S_MAX;

  /** The height of a command's lane at x: each change runs through the lanes as a wave, from the masters back. */
  const laneY = (id: string, x: number): number => {
    let y: number | undefined;
    for (const change of recent) {
      const owner = change.members[slotOf(id, story.idStep, change.members.length)];
      const wanted = (owner && yOf.get(owner.epoch)) ?? middle;
      const folded = y === undefined ? 1 : ease((ms - change.atMs - far(x) * WAVE_MS) / SWAP_MS);
      y = (y ?? wanted) + (wanted - (y ?? wanted)) * folded;
    }
    return middle + ((y ?? middle) - middle) * ease((x - start) / (split - start));
  };

  /** The place of one that has arrived and waits, behind those of its lane that came before. */
  const queuedAt = ({ id, kind }: Command, y: number): Dot => {
    const before = queued.get(Math.round(y)) ?? 0;
    queued.set(Math.round(y), before + 1);
    return { id, kind, x: Math.max(split, end - 6 - before * QUEUE_STEP), y, shape: "hollow" };
  };

  const swimmers: Swimmer[] = [];
  const dots: Dot[] = [];
  const queued = new Map<number, number>();
  for (const command of story.commands) {
    if (command.bornMs > ms) continue;
    const takenMs = command.takenMs ?? Number.POSITIVE_INFINITY;
    const former = command.kind === "failover" ? formerOwner(story, command.bornMs) : undefined;
    if (former !== undefined) {
      const swimmer = swimmerAt(command.id, ms - command.bornMs);
      const owner = (command.master !== null && yOf.get(command.master)) || laneY(command.id, end);
      if (swimmer !== null) swimmers.push(placed(swimmer, yOf.get(former) ?? middle, owner, end));
      else if (takenMs > ms && ms > command.bornMs + 2 * SWIM_MS) dots.push(queuedAt(command, laneY(command.id, end)));
      continue;
    }
    const arrivesMs = command.bornMs + TRANSIT_MS;
    const leavesMs = Math.max(arrivesMs, takenMs);
    if (ms > leavesMs + LEAVE_MS) continue;
    const taker = takenMs <= ms && command.master !== null ? yOf.get(command.master) : undefined;
    let x = start + ((end + 8 - start) * Math.min(ms - command.bornMs, TRANSIT_MS)) / TRANSIT_MS;
    const y =
      taker === undefined || ms < takenMs
        ? laneY(command.id, x)
        : middle + (taker - middle) * ease((x - start) / (split - start));
    const shape: Dot["shape"] = command.isRefused && takenMs <= ms ? "diamond" : "round";
    if (ms >= arrivesMs) {
      if (takenMs > arrivesMs && ms < takenMs) {
        dots.push(queuedAt(command, laneY(command.id, end)));
        continue;
      }
      x = end + 8;
    }
    if (x > end + 6) continue;
    dots.push({ id: command.id, x, y, kind: command.kind, shape });
  }
  return {
    source: { x: start, y: middle },
    split,
    end,
    height,
    rows,
    lanes: lanesOf(rows, ms, split, end),
    dots,
    swimmers,
    isStream,
  };
}

/** Whose run is failed over: a master is fenced moments before it is no longer a member, or while it is none. */
function formerOwner(story: Story, bornMs: number): string | undefined {
  const near = story.changes.findLast(
    ({ atMs, changes }) =>
      atMs <= bornMs + FENCED_BEFORE_MS && atMs > bornMs - GONE_SHOWN_MS && changes.some((each) => isEnd(each.reason)),
  );
  return near?.changes.find((each) => isEnd(each.reason))?.epoch;
}

/** The change that was in force before all that is still moving, and those that came since. */
function recentChanges(story: Story, ms: number): Change[] {
  const settled = Math.max(0, placeAt(story.changes, ms - WAVE_MS - SWAP_MS));
  return story.changes.slice(settled, placeAt(story.changes, ms) + 1);
}

function lanesOf(rows: Row[], ms: number, split: number, end: number): Lane[] {
  return rows.map((row) => {
    const since = row.goneMs === null ? 0 : (ms - row.goneMs) / WAVE_MS;
    const isGoing = row.goneMs !== null;
    return {
      y: row.y,
      share: isGoing ? 1 - ease(since) : row.share,
      endX: isGoing ? Math.max(split, end + 8 - since * (end - split)) : end + 8,
      label: row.slot === null ? null : `id mod ${row.total} = ${row.slot}`,
      slot: row.slot,
      isGoing,
      perS: row.perS,
    };
  });
}

/** How far a run is on its way to its new owner, 0 to 1, and its own way there; null = it is not on its way. */
function swimmerAt(id: string, sinceMs: number): { way: number; chance: number } | null {
  const chance = (Number(BigInt(id) % 10_000n) * 0.6180339) % 1;
  const way = (sinceMs - chance * 750) / SWIM_MS;
  return way <= 0 || way >= 1 ? null : { way: ease(way), chance };
}

function placed({ way, chance }: { way: number; chance: number }, from: number, to: number, end: number): Swimmer {
  const off = (chance - 0.5) * 44;
  const rest = 1 - way;
  const bend = end - 60 - chance * 80;
  const between = (from + to) / 2 + off;
  const at = (a: number, c: number, b: number) => rest * rest * a + 2 * rest * way * c + way * way * b;
  const to_ = (a: number, c: number, b: number) => 2 * rest * (c - a) + 2 * way * (b - c);
  const [fromY, toY] = [from + off, to + off * 0.6];
  return {
    x: at(end + 14, bend, end + 16),
    y: at(fromY, between, toY),
    angle: Math.atan2(to_(fromY, between, toY), to_(end + 14, bend, end + 16)),
  };
}

/** Until when something moves in the picture, as far as is known at `ms`; before `ms` = nothing moves now. */
export function movesUntilMs(story: Story, ms: number): number {
  let until = 0;
  const change = story.changes[placeAt(story.changes, ms)];
  if (change !== undefined)
    until =
      change.atMs +
      (change.changes.some((each) => each.reason !== "JOINED") ? GONE_SHOWN_MS : WAVE_MS + SWAP_MS + MOVE_MS);
  for (const { bornMs, takenMs } of story.commands) {
    const arrivesMs = bornMs + TRANSIT_MS;
    until = Math.max(until, takenMs === null ? arrivesMs : Math.max(arrivesMs, takenMs) + LEAVE_MS);
  }
  return until;
}

/** The lines of several logs in one, by time. Pure. */
import { type Line, plain } from "./lines";

export interface Part {
  /** Milliseconds: when the attempt began, and when it ended (for one that runs, the present). */
  begun: number;
  ended: number;
  lines: readonly Line[];
}

export interface MergedLine {
  /** The place of its log among those given. */
  part: number;
  line: Line;
  at: number;
}

const TIME = /^\W{0,2}(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z|UTC|[+-]\d\d:?\d\d)?(?!\d)/;
const QUARTER_MS = 900_000;
const ZONE_MS = 14 * 3_600_000;
/** A program's clock, and when a worker says that it began, may differ by this. */
const APART_MS = 5_000;

/**
 * A log has no times but those that its program writes at the beginning of lines. A line without one follows the line
 * before it; the first ones stand where the attempt began. Lines of one log never change their order.
 */
export function merged(parts: readonly Part[]): MergedLine[] {
  const all = parts.flatMap((part, place) => {
    const times = part.lines.map((line) => timeOf(line.text));
    const zone = zoneOf(part, times);
    let at = part.begun;
    return part.lines.map((line, number) => {
      const time = times[number];
      if (time != null && (time.hasZone || zone !== null))
        at = Math.max(at, Math.min(time.ms - (time.hasZone ? 0 : (zone ?? 0)), part.ended));
      return { part: place, line, at };
    });
  });
  return all.sort((one, other) => one.at - other.at || one.part - other.part);
}

interface Time {
  ms: number;
  hasZone: boolean;
}

/** The time at the beginning of a line; without an offset it is read as UTC. */
export function timeOf(text: string): Time | null {
  const found = TIME.exec(plain(text.slice(0, 100)));
  if (found === null) return null;
  const [, year, month, day, hour, minute, second, part = "0", zone] = found;
  const clock = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  return { ms: clock + Number(`0.${part}`) * 1_000 - offsetOf(zone), hasZone: zone !== undefined };
}

function offsetOf(zone: string | undefined): number {
  const found = /^([+-])(\d\d):?(\d\d)$/.exec(zone ?? "");
  if (found === null) return 0;
  return (found[1] === "-" ? -1 : 1) * (Number(found[2]) * 60 + Number(found[3])) * 60_000;
}

/** How far the clock of times without an offset is ahead of UTC: the nearest to none at which all of them lie within
 * the attempt; null = there is none. */
function zoneOf(part: Part, times: readonly (Time | null)[]): number | null {
  const bare = times.flatMap((time) => (time === null || time.hasZone ? [] : [time.ms]));
  if (bare.length === 0) return null;
  const [first, last] = [bare.reduce((a, b) => Math.min(a, b)), bare.reduce((a, b) => Math.max(a, b))];
  for (let ahead = 0; ahead <= ZONE_MS; ahead += QUARTER_MS)
    for (const zone of [ahead, -ahead])
      if (first - zone >= part.begun - APART_MS && last - zone <= part.ended + APART_MS) return zone;
  return null;
}

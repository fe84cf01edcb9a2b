/** Times and durations as people read them; the zone is the one chosen in the top bar. */
import { shared } from "./shared";

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

// Pure parts are tested where there is no browser.
const here = globalThis.localStorage?.getItem("shoal-zone") ?? Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The time zone in which times are shown, kept in this browser. */
export const zone = shared(here, (name) => localStorage.setItem("shoal-zone", name));
export const shownZone = zone.now;

/** A duration in seconds: `0.4 s`, `12 s`, `4 m 12 s`, `2 h 05 m`, `3 d 4 h`. */
export function duration(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 10) return `${s.toFixed(1)} s`;
  const whole = Math.round(s);
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} m ${pad(whole % MINUTE)} s`;
  if (whole < DAY) return `${Math.floor(whole / HOUR)} h ${pad(Math.floor((whole % HOUR) / MINUTE))} m`;
  return `${Math.floor(whole / DAY)} d ${Math.floor((whole % DAY) / HOUR)} h`;
}

/** The time of day, by 24 hours in each language. */
export const TIME_OF_DAY = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;

/** `14:02:11` today, `20 Nov 14:02` otherwise, in the shown zone. */
export function moment(at: string | Date, language: string, now = new Date()): string {
  const date = typeof at === "string" ? new Date(at) : at;
  const isToday = dayOf(date) === dayOf(now);
  return new Intl.DateTimeFormat(language, {
    timeZone: zone.now(),
    ...TIME_OF_DAY,
    ...(isToday ? { second: "2-digit" } : { day: "numeric", month: "short" }),
    ...(date.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }),
  }).format(date);
}

/** `14:02`, for axes and ranges; with the day where a range has several. */
export function clock(at: string | number, language: string, hasDays = false): string {
  return new Intl.DateTimeFormat(language, {
    timeZone: zone.now(),
    ...TIME_OF_DAY,
    ...(hasDays && { day: "numeric", month: "short" }),
  }).format(new Date(at));
}

/** The whole moment with its zone, for the pointer. */
export function exactMoment(at: string, language: string): string {
  return new Intl.DateTimeFormat(language, {
    timeZone: zone.now(),
    dateStyle: "full",
    timeStyle: "long",
    hourCycle: "h23",
  }).format(new Date(at));
}

/** The moment of what a field for date and time has (`2026-11-20T14:02`), read in the shown zone; null = not filled in. */
export function zonedTime(typed: string): string | null {
  const asUtc = Date.parse(`${typed}Z`);
  if (Number.isNaN(asUtc)) return null;
  // Twice: the offset at the wanted moment may differ from that at the moment which was guessed first.
  const guess = asUtc - offsetAt(asUtc);
  return new Date(asUtc - offsetAt(guess)).toISOString();
}

/** How far the shown zone is ahead of UTC at a moment, in milliseconds. */
function offsetAt(at: number): number {
  const parts = new Intl.DateTimeFormat("sv", { timeZone: zone.now(), dateStyle: "short", timeStyle: "medium" });
  return Date.parse(`${parts.format(at).replace(" ", "T")}Z`) - Math.floor(at / 1000) * 1000;
}

/** The day in the shown zone, as 2026-11-20. */
export function dayOf(date: Date): string {
  return new Intl.DateTimeFormat("sv", { timeZone: zone.now(), dateStyle: "short" }).format(date);
}

/** A count with thin gaps: `1 284`. */
export function count(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}

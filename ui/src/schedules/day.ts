/** What a day of the calendar has, as numbers and words. */
import { shownZone } from "@/parts/time";
import type { Day } from "./queries";

/** How many runs there are in all states. */
export function countOf(states: Record<string, number>): number {
  return Object.values(states).reduce((sum, count) => sum + count, 0);
}

/** How many fire times are to come; `isLeast`: that many or more. */
export function firesOf(day: Day): { fires: number; isLeast: boolean } {
  const fires = day.schedules.reduce((sum, each) => sum + each.fires.length + (each.more ?? 0), 0);
  return { fires, isLeast: day.schedules.some((each) => each.more_is_least === true) };
}

/** The first fire time to come, as 08:00 in the shown zone. */
export function firstFireOf(day: Day): string | null {
  const times = day.schedules.flatMap((each) => each.fires.map((fire) => fire.utc)).sort();
  return times[0] === undefined ? null : clockOf(times[0], shownZone());
}

/** `08:00` in a zone. */
export function clockOf(at: string, zone: string): string {
  return new Intl.DateTimeFormat("sv", { timeZone: zone, hour: "2-digit", minute: "2-digit" }).format(new Date(at));
}

/** The three ways to write a rule: choices ("each day at 05:00"), Quartz, and five fields. Times come from the server. */

export type Unit = "minutes" | "hours" | "days" | "weeks" | "months";

/** A rule as choices. `every` counts minutes or hours; `weekdays` are 0 (Sunday) to 6; `day` is 1 to 31 or L, the last. */
export interface Choices {
  unit: Unit;
  every: number;
  minute: number;
  hour: number;
  weekdays: number[];
  day: string;
}

export const USUAL: Choices = { unit: "days", every: 5, minute: 0, hour: 5, weekdays: [1, 2, 3, 4, 5], day: "1" };
export const NICKNAMES: Record<string, string> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};
const NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/** Why a rule has no form with five fields; the words have it under `five.`. */
export type NotFive = "seconds" | "year" | "signs" | "fields";

function fieldsOf(crontab: string): string[] {
  return (NICKNAMES[crontab.trim().toLowerCase()] ?? crontab.trim()).toUpperCase().split(/\s+/);
}

/** Quartz's six fields of a rule, or the rule itself if it has seven or makes no sense. */
export function asQuartz(crontab: string): string {
  const fields = fieldsOf(crontab);
  if (fields.length !== 5) return crontab.trim();
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string];
  const isEveryDay = weekday === "*" || weekday === "?";
  return [
    "0",
    minute,
    hour,
    day === "*" && !isEveryDay ? "?" : day,
    month,
    isEveryDay ? "?" : weekdays(weekday, 1),
  ].join(" ");
}

/** Five fields of a rule, or why it has none. */
export function asFive(crontab: string): { five: string } | { why: NotFive } {
  const fields = fieldsOf(crontab);
  if (fields.length === 5) return { five: fields.join(" ") };
  const [second, minute, hour, day, month, weekday, year] = fields;
  if (minute === undefined || hour === undefined || day === undefined || month === undefined || weekday === undefined)
    return { why: "fields" };
  if (second !== "0" && second !== "00") return { why: "seconds" };
  if (year !== undefined && year !== "*") return { why: "year" };
  if (/[LW#]/.test(day) || /[L#]/.test(weekday.replace(/[A-Z]{3}/g, ""))) return { why: "signs" };
  const star = (field: string) => (field === "?" ? "*" : field);
  return {
    five: [
      minute.replace(/^0\/(\d+)$/, "*/$1"),
      hour.replace(/^0\/(\d+)$/, "*/$1"),
      star(day),
      month,
      star(weekdays(weekday, -1)),
    ].join(" "),
  };
}

/** A field of weekdays with each number moved: Quartz counts Sunday as 1, the others as 0. Ranges over the end are lists. */
function weekdays(field: string, by: 1 | -1): string {
  const first = by === 1 ? 1 : 0;
  const moved = (day: string) => {
    const number = NAMES.includes(day) ? NAMES.indexOf(day) : Number(day) + (by === 1 ? 0 : -1);
    return (((number % 7) + 7) % 7) + first;
  };
  return field
    .split(",")
    .map((part) => {
      const range = /^(\d|[A-Z]{3})(?:-(\d|[A-Z]{3}))?$/.exec(part);
      if (range === null || range[1] === undefined) return part;
      const from = moved(range[1]);
      if (range[2] === undefined) return String(from);
      const to = moved(range[2]);
      return from <= to ? `${from}-${to}` : span(from, to, first).join(",");
    })
    .join(",");
}

function span(from: number, to: number, first: number): number[] {
  const count = ((to - from + 7) % 7) + 1;
  return Array.from({ length: count }, (_, step) => ((from - first + step) % 7) + first);
}

/** The rule of choices, in Quartz's fields. */
export function ruleOf({ unit, every, minute, hour, weekdays: chosen, day }: Choices): string {
  switch (unit) {
    case "minutes":
      return `0 0/${every} * * * ?`;
    case "hours":
      return `0 ${minute} ${every === 1 ? "*" : `0/${every}`} * * ?`;
    case "days":
      return `0 ${minute} ${hour} * * ?`;
    case "weeks":
      return `0 ${minute} ${hour} ? * ${listed(chosen)}`;
    case "months":
      return `0 ${minute} ${hour} ${day} * ?`;
  }
}

function listed(chosen: number[]): string {
  const days = [...new Set(chosen)].sort((one, other) => one - other);
  if (days.length === 0) return "*";
  const [first, last] = [days[0] ?? 0, days.at(-1) ?? 0];
  if (days.length > 2 && last - first === days.length - 1) return `${first + 1}-${last + 1}`;
  return days.map((each) => each + 1).join(",");
}

/** A rule as choices, or null if it says more than choices can. */
export function choicesOf(crontab: string): Choices | null {
  const [second, minute = "", hour = "", day = "", month, weekday = "", year] = asQuartz(crontab)
    .toUpperCase()
    .split(/\s+/);
  if ((second !== "0" && second !== "00") || month !== "*" || (year !== undefined && year !== "*")) return null;
  const isEveryDay = day === "*" || day === "?";
  const isEveryWeekday = weekday === "?" || weekday === "*";
  const steps = /^(?:\*|0)\/(\d+)$/;
  if (isEveryDay && isEveryWeekday && hour === "*" && (minute === "*" || steps.test(minute)))
    return { ...USUAL, unit: "minutes", every: Number(steps.exec(minute)?.[1] ?? 1) };
  if (!/^\d+$/.test(minute)) return null;
  if (isEveryDay && isEveryWeekday && (hour === "*" || steps.test(hour)))
    return { ...USUAL, unit: "hours", every: Number(steps.exec(hour)?.[1] ?? 1), minute: Number(minute) };
  if (!/^\d+$/.test(hour)) return null;
  const at = { ...USUAL, minute: Number(minute), hour: Number(hour) };
  if (isEveryDay && isEveryWeekday) return { ...at, unit: "days" };
  if (isEveryDay) {
    const chosen = daysOf(weekday);
    return chosen === null ? null : { ...at, unit: "weeks", weekdays: chosen };
  }
  return isEveryWeekday && /^(\d+|L)$/.test(day) ? { ...at, unit: "months", day } : null;
}

/** The weekdays (0 = Sunday) of a field of Quartz that lists them. */
function daysOf(field: string): number[] | null {
  const days: number[] = [];
  for (const part of weekdays(field, -1).split(",")) {
    const range = /^(\d)(?:-(\d))?$/.exec(part);
    if (range === null) return null;
    days.push(...span(Number(range[1]), Number(range[2] ?? range[1]), 0));
  }
  return days;
}

/** Whether a rule repeats within the day: it then follows elapsed time when a clock changes, else it fires once. */
export function isRepeating(crontab: string): boolean {
  const fields = asQuartz(crontab).split(/\s+/);
  return fields.slice(0, 3).some((field) => field.includes("*") || field.includes("/"));
}

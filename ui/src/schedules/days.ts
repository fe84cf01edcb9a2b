/** Days of the calendar, as 2026-11-20: arithmetic without time zones. */
export const DAYS_SHOWN = 35;
const DAY_MS = 86_400_000;

export function plusDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The Monday of its week. */
export function mondayOf(day: string): string {
  return plusDays(day, -((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7));
}

/** A day in words, such as Friday, 20 November. */
export function dayInWords(day: string, language: string, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(language, { timeZone: "UTC", ...options }).format(new Date(`${day}T00:00:00Z`));
}

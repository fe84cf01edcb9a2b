/** Facts of an alert as people read them. Their names are those of the API, which say the unit. */
import { duration, moment } from "@/parts/time";

/** A fact as text: times in the shown zone, durations with their unit; what is more than a word is JSON. */
export function factText(name: string, value: unknown, language: string): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number" && name.endsWith("_s")) return duration(value);
  if (typeof value === "string" && /_(at|time|since|until)$/.test(name) && !Number.isNaN(Date.parse(value)))
    return moment(value, language);
  return typeof value === "object" ? JSON.stringify(value, null, 1) : String(value);
}

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

export interface ResultTable {
  columns: string[];
  rows: unknown[][];
}

/** The table of a SQL task's result among the facts; null = there is none. */
export function tableOf(facts: Record<string, unknown>): ResultTable | null {
  const { columns, rows } = facts;
  if (!Array.isArray(columns) || !Array.isArray(rows) || !rows.every(Array.isArray)) return null;
  return { columns: columns.map(String), rows };
}

/** The facts that are not that table, by name. */
export function plainFacts(facts: Record<string, unknown>): [string, unknown][] {
  const table = tableOf(facts) === null ? [] : ["columns", "rows"];
  return Object.entries(facts).filter(([name]) => !table.includes(name));
}

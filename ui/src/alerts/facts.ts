/** A fact of an alert as text: what is more than a word is JSON. */
export function factText(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "object" ? JSON.stringify(value, null, 1) : String(value);
}

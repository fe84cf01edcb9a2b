import { parse } from "yaml";
import { asObject } from "./read";

/** Values by name, one a line as `name: value`; null if the text is something else. Values stay as they are written. */
export function valuesOf(typed: string): Record<string, string> | null {
  if (typed.trim() === "") return {};
  try {
    const values = Object.entries(asObject(parse(typed, { schema: "failsafe" })));
    return values.length > 0 && values.every(([, value]) => typeof value === "string")
      ? Object.fromEntries(values.map(([name, value]) => [name, String(value)]))
      : null;
  } catch {
    return null;
  }
}

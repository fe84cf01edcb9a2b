/** The projects whose workflows the caller may change. */
import { may } from "./rights";
import type { Me } from "./session";

/** Their names. */
export function editedBy(who: Me, all: { items: { name: string }[] }): string[] {
  return all.items.map((each) => each.name).filter((each) => may(who, "EDITOR", each));
}

/** The one that is chosen first. */
export function firstOf(names: string[]): string | null {
  return names.includes("default") ? "default" : (names[0] ?? null);
}

/** What must hold between tasks: names are unique, and none waits for itself. */
import type { Edge } from "./read";

/** Why an edit is refused: a word of the editor's words, with its values. */
export class Refusal extends Error {
  constructor(
    readonly word: string,
    readonly values: Record<string, string | number> = {},
  ) {
    super(word);
  }
}

/** A name that is not taken: `base`, else `base_2`, `base_3`, ... */
export function uniqueName(base: string, taken: Iterable<string>): string {
  const names = new Set(taken);
  if (!names.has(base)) return base;
  const stem = base.replace(/_\d+$/, "");
  for (let number = 2; ; number += 1) if (!names.has(`${stem}_${number}`)) return `${stem}_${number}`;
}

/** The tasks on the way from one task to another along the arrows, both included; null = there is none. */
export function wayFrom(start: string, goal: string, edges: Edge[]): string[] | null {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const cameFrom = new Map<string, string | null>([[start, null]]);
  const waiting = [start];
  for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
    if (at === goal) {
      const way: string[] = [];
      for (let step: string | null | undefined = at; step != null; step = cameFrom.get(step)) way.unshift(step);
      return way;
    }
    for (const each of next.get(at) ?? [])
      if (!cameFrom.has(each)) {
        cameFrom.set(each, at);
        waiting.push(each);
      }
  }
  return null;
}

/** Refuse an arrow that would make a task wait for itself. */
export function checkArrow(from: string, to: string, edges: Edge[]): void {
  if (from === to) throw new Refusal("refuse.self", { task: from });
  const way = wayFrom(to, from, edges);
  if (way !== null) throw new Refusal("refuse.ring", { from, to, ring: [...way, to].join(" → ") });
}

/** Refuse a name that no task can have. */
export function checkName(name: string, taken: Iterable<string>): void {
  if (name === "") throw new Refusal("refuse.noName");
  if (/^\d+$/.test(name) || /^[@-]/.test(name) || name.includes("/") || name.length > 200)
    throw new Refusal("refuse.badName", { name });
  if (new Set(taken).has(name)) throw new Refusal("refuse.sameName", { name });
}

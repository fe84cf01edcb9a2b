/** What the palette lists: each entry has words to be found by, and does one thing. */
import type { TablerIcon } from "@tabler/icons-react";

export interface Entry {
  id: string;
  group: string;
  name: string;
  about: string;
  icon: TablerIcon;
  /** Other words that find it, such as its English name. */
  also?: string;
  act: () => void;
}

/** The entries that have each typed word somewhere in their name, in any case; names that begin so come first. */
export function matching(entries: Entry[], typed: string): Entry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (entry: Entry) => `${entry.name} ${entry.also ?? ""}`.toLowerCase();
  const begins = (entry: Entry) => (text(entry).startsWith(words[0] ?? "") ? 0 : 1);
  return entries
    .filter((entry) => words.every((word) => text(entry).includes(word)))
    .sort((one, other) => begins(one) - begins(other));
}

/** Entries by group, groups in the order in which they come first. */
export function grouped(entries: Entry[]): [string, Entry[]][] {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) groups.set(entry.group, [...(groups.get(entry.group) ?? []), entry]);
  return [...groups];
}

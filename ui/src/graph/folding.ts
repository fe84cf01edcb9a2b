/** Groups of tasks that are shown as one node, for as long as the page is open. */
import { useMemo, useReducer } from "react";

export interface Folding {
  folded: ReadonlySet<string>;
  /** Fold these groups, or unfold those of them that are folded. */
  toggle: (groups: Iterable<string>) => void;
}

const NONE: ReadonlySet<string> = new Set();
const kept = new Map<string, ReadonlySet<string>>();
let focusNext: string | null = null;

/** The groups that are folded at this place, such as in the graph of a workflow. */
export function useFolding(place: string): Folding {
  const [, show] = useReducer((times: number) => times + 1, 0);
  const folded = kept.get(place) ?? NONE;
  return useMemo(
    () => ({
      folded,
      toggle: (groups) => {
        const next = new Set(folded);
        for (const group of groups) if (!next.delete(group)) next.add(group);
        kept.set(place, next);
        const [first] = groups;
        if (first !== undefined) focusNext = wanted(first, next.has(first));
        show();
      },
    }),
    [place, folded],
  );
}

/** Where the focus goes on when a button has folded or unfolded a group, and is gone: to the one in its place. */
export function focusAfter(group: string, isFolded: boolean): (button: HTMLButtonElement | null) => void {
  return (button) => {
    if (button === null || focusNext !== wanted(group, isFolded)) return;
    focusNext = null;
    button.focus({ preventScroll: true });
  };
}

function wanted(group: string, isFolded: boolean): string {
  return `${isFolded} ${group}`;
}

/** The id of the node of a folded group; no task has it. */
export function foldedId(group: string): string {
  return `group:${group}`;
}

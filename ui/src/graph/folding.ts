/** Groups of tasks that are shown as one node; this browser keeps which. */
import { useMemo } from "react";
import { kept } from "@/parts/shared";

export interface Folding {
  folded: ReadonlySet<string>;
  /** Fold these groups, or unfold those of them that are folded. */
  toggle: (groups: Iterable<string>) => void;
}

/** The folded groups of each place that has some. */
const all = kept<Record<string, string[]>>("shoal-folded", {});
let focusNext: string | null = null;

/** The groups that are folded at this place, such as in the graph of a workflow. */
export function useFolding(place: string): Folding {
  const groups = all.use()[place];
  return useMemo(() => {
    const folded = new Set(groups);
    return {
      folded,
      toggle: (toggled) => {
        const next = new Set(folded);
        for (const group of toggled) if (!next.delete(group)) next.add(group);
        const [first] = toggled;
        if (first !== undefined) focusNext = wanted(first, next.has(first));
        const { [place]: _before, ...others } = all.now();
        all.set(next.size === 0 ? others : { ...others, [place]: [...next] });
      },
    };
  }, [place, groups]);
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

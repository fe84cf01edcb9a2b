import type { ReactNode } from "react";
import { queries } from "@/api/queries";
import { say } from "@/parts/notices";

/** Says what an action did, and has what it changed read again: words of queries, as in live/changes.ts. */
export function useDone(...words: string[]) {
  return async (text: ReactNode, runId?: string | null) => {
    say(text, runId ?? null);
    await Promise.all(words.map((word) => queries.invalidateQueries({ queryKey: [word] })));
  };
}

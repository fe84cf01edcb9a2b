import { type ReactNode, useState } from "react";
import { queries } from "@/api/queries";
import { Said, type Saying, sentenceOf } from "@/parts/Said";

/** Says what an action did, and has what it changed read again: words of queries, as in live/changes.ts. */
export function useDone(...words: string[]) {
  const [said, setSaid] = useState<Saying | null>(null);
  return {
    place: <Said what={said} onClose={() => setSaid(null)} />,
    done: async (text: ReactNode) => {
      setSaid({ isGood: true, text });
      await Promise.all(words.map((word) => queries.invalidateQueries({ queryKey: [word] })));
    },
    failed: (error: Error) => setSaid({ isGood: false, text: sentenceOf(error) }),
  };
}

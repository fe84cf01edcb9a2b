import { useCallback, useEffect, useRef, useState } from "react";
import type { Schemas } from "@/api/client";
import { searchLog } from "./reader";

type Found = Schemas["LogLine"];

export interface LogSearch {
  found: Found[];
  /** The place of the line that is shown, from 0. */
  current: number;
  /** How many bytes have been searched, of how many. */
  searched: number;
  size: number;
  isDone: boolean;
  error: Error | null;
}

const NOTHING: LogSearch = { found: [], current: -1, searched: 0, size: 0, isDone: true, error: null };
const FOUND_MAX = 1000;
const TYPING_MS = 250;

/** Searches in the log of an attempt on the server, part by part, and says how far it got. */
export function useLogSearch(attempt: string, sought: string | undefined) {
  const [search, setSearch] = useState(NOTHING);
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    setSearch(NOTHING);
    if (sought === undefined) return;
    const timer = setTimeout(async () => {
      let offset = 0;
      let lines = 0;
      const found: Found[] = [];
      for (let isDone = false; !isDone && found.length < FOUND_MAX; ) {
        try {
          const part = await searchLog(attempt, { text: sought, offset });
          if (turn.current !== mine) return;
          const before = lines;
          found.push(...part.found.map((line) => ({ ...line, line: line.line + before })));
          lines += part.lines;
          isDone = part.is_done || part.searched_to <= offset;
          offset = part.searched_to;
          const done = isDone;
          setSearch((old) => ({
            ...old,
            found: [...found],
            searched: offset,
            size: part.size,
            isDone: done,
            error: null,
          }));
        } catch (error) {
          if (turn.current === mine) setSearch((old) => ({ ...old, isDone: true, error: error as Error }));
          return;
        }
      }
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [attempt, sought]);
  const show = useCallback((current: number) => setSearch((old) => ({ ...old, current })), []);
  return { search, show };
}

/** Where the first line stands that looks like an error; null = none does. `tell` hears how far the search is. */
export async function firstError(attempt: string, tell: (share: number) => void): Promise<number | null> {
  for (let offset = 0; ; ) {
    const part = await searchLog(attempt, { errors: true, limit: 1, offset });
    if (part.found[0] !== undefined) return part.found[0].offset;
    if (part.is_done || part.searched_to <= offset) return null;
    offset = part.searched_to;
    tell(offset / part.size);
  }
}

/** What the picture of the slots is made of: frames while it is live, the commands of a time while it is replayed. */
import { queryOptions } from "@tanstack/react-query";
import { api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { type Change, type Command, changeOf, commandOf, merged } from "./story";

const KEPT_MS = 60_000;
/** A row may become visible so long after the time that is written in it. */
const OVERLAP_MS = 3_000;
const WINDOW_MS = 60_000;
const CHANGES_MAX = 1_000;

export interface Live {
  frame: Schemas["FrameAnswer"];
  commands: Command[];
  /** Add it to `performance.now()` for the database's time. */
  offsetMs: number;
  isCut: boolean;
}

/** The newest frame, with the commands of those before it. */
export const frames = queryOptions({
  queryKey: ["frame"],
  queryFn: async (): Promise<Live> => {
    const before = queries.getQueryData<Live>(["frame"]);
    const since = before && new Date(Date.parse(before.frame.now) - OVERLAP_MS).toISOString();
    const frame = await api.GET("/api/v1/slots:frame", { params: { query: since ? { since } : {} } });
    const nowMs = Date.parse(frame.now);
    const news = frame.arrivals.map(commandOf);
    const known = before?.commands ?? [];
    return {
      frame,
      commands: merged(stillTrue(known, news, frame.has_more), news, nowMs - KEPT_MS),
      offsetMs: Math.max(nowMs - performance.now(), before?.offsetMs ?? Number.NEGATIVE_INFINITY),
      isCut: frame.has_more,
    };
  },
  structuralSharing: false,
});

/** Each frame names all that waits: what waited before and is in no list was taken too long ago, or dropped. */
function stillTrue(known: Command[], news: Command[], isCut: boolean): Command[] {
  if (isCut) return known;
  const named = new Set(news.map((each) => each.id));
  return known.filter((each) => each.takenMs !== null || named.has(each.id));
}

/** All changes of the last 24 hours, oldest first. */
export const slotChanges = queryOptions({
  queryKey: ["slot-changes"],
  queryFn: async (): Promise<Change[]> => {
    const found: Change[] = [];
    for (let cursor: string | null | undefined; ; ) {
      const page: Schemas["PageOf_SlotChangeAnswer_"] = await api.GET("/api/v1/slot-changes", {
        params: { query: { limit: CHANGES_MAX, ...(cursor && { cursor }) } },
      });
      found.push(...page.items.map(changeOf));
      cursor = page.next_cursor;
      if (!page.has_more || cursor == null) return found;
    }
  },
});

/** The times for which commands are read when the picture shows `ms`. */
export function windowsOf(ms: number): number[] {
  const [from, to] = [ms - 20_000, ms + 10_000].map((each) => Math.floor(each / WINDOW_MS) * WINDOW_MS);
  return from === to || to === undefined || from === undefined ? [from ?? ms] : [from, to];
}

/** The commands that came within the window that begins at `fromMs`. */
export function arrivedIn(fromMs: number) {
  return queryOptions({
    queryKey: ["arrived", fromMs],
    queryFn: async (): Promise<{ commands: Command[]; isCut: boolean }> => {
      const query = {
        arrived_after: new Date(fromMs).toISOString(),
        arrived_before: new Date(fromMs + WINDOW_MS).toISOString(),
        limit: 2_000,
      };
      const found = await api.GET("/api/v1/commands:arrived", { params: { query } });
      return { commands: found.items.map(commandOf), isCut: found.has_more };
    },
    staleTime: fromMs + 2 * WINDOW_MS < Date.now() ? Number.POSITIVE_INFINITY : 3_000,
  });
}

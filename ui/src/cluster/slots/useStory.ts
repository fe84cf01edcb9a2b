import { useQueries, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { live as stream } from "@/live/eventSource";
import { arrivedIn, frames, type Live, slotChanges, windowsOf } from "./feed";
import { movesUntilMs } from "./picture";
import { type Change, merged, type Story } from "./story";

const BUSY_EVERY_MS = 1_000;
/** Events tell of what happens meanwhile: this is for the beats. */
const IDLE_EVERY_MS = 5_000;
const NONE: Change[] = [];

export interface Told {
  story: Story | null;
  live: Live | undefined;
  error: Error | null;
  again: () => void;
}

/**
 * What the picture is drawn from. `isShown`: somebody sees it; else nothing is read. `replayMs`: the moment that is
 * replayed, null = live.
 */
export function useStory(isShown: boolean, replayMs: number | null): Told {
  const live = useQuery({
    ...frames,
    enabled: isShown,
    refetchInterval: (query) => (isQuiet(query.state.data) ? IDLE_EVERY_MS : BUSY_EVERY_MS),
  });
  const { refetch } = live;
  const readAt = useRef(0);
  readAt.current = live.dataUpdatedAt;
  useEffect(() => {
    if (!isShown) return;
    let due: ReturnType<typeof setTimeout> | undefined;
    const end = stream.onEvent(({ data }) => {
      if (data.topic !== "queue" && data.topic !== "cluster") return;
      due ??= setTimeout(
        () => {
          due = undefined;
          void refetch({ cancelRefetch: false });
        },
        Math.max(0, readAt.current + BUSY_EVERY_MS - Date.now()),
      );
    });
    return () => {
      end();
      clearTimeout(due);
    };
  }, [isShown, refetch]);
  const changes = useQuery({ ...slotChanges, enabled: isShown });
  const windows = useQueries({
    queries: (replayMs === null ? [] : windowsOf(replayMs)).map((from) => ({ ...arrivedIn(from), enabled: isShown })),
    combine: (found) => ({
      commands: found.map((each) => each.data?.commands),
      isCut: found.some((each) => each.data?.isCut),
      error: found.find((each) => each.error !== null)?.error ?? null,
    }),
  });
  const { data } = live;
  const known = changes.data ?? NONE;
  const idStep = data?.frame.id_step ?? 1;
  const liveStory = useMemo(() => (data === undefined ? null : { commands: data.commands, isCut: data.isCut }), [data]);
  const past = useMemo(
    () => ({
      commands: windows.commands.reduce<Story["commands"]>((all, each) => merged(all, each ?? [], 0), []),
      isCut: windows.isCut,
    }),
    [windows],
  );
  const told = replayMs === null ? liveStory : past;
  const story = useMemo(
    () => (told === null || known.length === 0 ? null : { idStep: BigInt(idStep), changes: known, ...told }),
    [told, known, idStep],
  );
  return {
    story,
    live: data,
    error: live.error ?? changes.error ?? windows.error,
    again: () => {
      void live.refetch();
      void changes.refetch();
    },
  };
}

/** Nothing came lately and nothing waits: then there is no need to ask every second. */
function isQuiet(live: Live | undefined): boolean {
  if (live === undefined) return false;
  const nowMs = Date.parse(live.frame.now);
  const waits = live.frame.waiting.some((each) => each.waiting > 0);
  const differs = live.frame.slots.masters.some((each) => !each.agrees);
  return !waits && !differs && movesUntilMs({ idStep: 1n, changes: [], ...live }, nowMs) < nowMs;
}

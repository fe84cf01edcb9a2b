import { useQuery } from "@tanstack/react-query";
import { useProject } from "@/app/ProjectSwitch";
import { type Need, needsOf } from "./needs";
import { approvals, failed, late, NEED_MAX, refused } from "./queries";

const ASKED_EVERY_MS = 5_000;

interface Needs {
  /** Undefined until all of it was read once. */
  needs: Need[] | undefined;
  /** Whether there may be more than was read. */
  isMore: boolean;
  error: Error | null;
  again: () => void;
}

/**
 * What needs a person in the chosen project. Events have the rest of it read again; `everyMs` is for pages that follow
 * none. No event of all runs tells that a task of one asks.
 */
export function useNeeds(everyMs?: number): Needs {
  const project = useProject();
  const runs = useQuery({ ...failed, refetchInterval: everyMs });
  const lates = useQuery(late);
  const commands = useQuery({ ...refused, refetchInterval: everyMs, retry: false });
  const asked = useQuery({ ...approvals, refetchInterval: everyMs ?? ASKED_EVERY_MS });
  // Error commands are only for those who may see them: without that right there are none to show.
  const read =
    !commands.isPending && runs.data && lates.data && asked.data
      ? {
          failed: runs.data.items,
          lateRuns: lates.data.runs,
          lateSchedules: lates.data.schedules,
          refused: commands.data?.items ?? [],
          asked: asked.data.items,
        }
      : undefined;
  return {
    needs: read && needsOf(read, project),
    isMore: Object.values(read ?? {}).some((each) => each.length >= NEED_MAX),
    error: runs.error ?? lates.error ?? asked.error,
    again: () => {
      for (const each of [runs, lates, commands, asked]) void each.refetch();
    },
  };
}

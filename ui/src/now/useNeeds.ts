import { useQuery } from "@tanstack/react-query";
import { useProject } from "@/app/ProjectSwitch";
import { type Need, needsOf } from "./needs";
import { failed, late, refused } from "./queries";

/** What needs a person in the chosen project; `needs` is undefined until all of it was read once. */
export function useNeeds(): { needs: Need[] | undefined; error: Error | null; again: () => void } {
  const project = useProject();
  const runs = useQuery(failed);
  const lates = useQuery(late);
  const commands = useQuery(refused);
  const all = [runs, lates, commands];
  // Error commands are only for those who may see them: without that right there are none to show.
  const isRead = runs.data !== undefined && lates.data !== undefined && (commands.data ?? commands.error) !== undefined;
  return {
    needs:
      isRead && runs.data !== undefined && lates.data !== undefined
        ? needsOf(
            {
              failed: runs.data.items,
              lateRuns: lates.data.runs,
              lateSchedules: lates.data.schedules,
              refused: commands.data?.items ?? [],
            },
            project,
          )
        : undefined,
    error: runs.error ?? lates.error,
    again: () => {
      for (const each of all) void each.refetch();
    },
  };
}

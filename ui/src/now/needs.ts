/** What needs a person, of three kinds in one list. */
import type { FailedRun, LateRun, LateSchedule, Refused } from "./queries";

export type Need =
  | { kind: "failed"; at: string; project: string | null; of: FailedRun }
  | { kind: "lateRun"; at: string; project: string | null; of: LateRun }
  | { kind: "lateSchedule"; at: string; project: string | null; of: LateSchedule }
  | { kind: "refused"; at: string; project: string | null; of: Refused };

interface Read {
  failed: FailedRun[];
  lateRuns: LateRun[];
  lateSchedules: LateSchedule[];
  refused: Refused[];
}

/** All that needs a person in a project (null = in all), newest first. */
export function needsOf({ failed, lateRuns, lateSchedules, refused }: Read, project: string | null): Need[] {
  const needs: Need[] = [
    ...failed.map((of): Need => ({ kind: "failed", at: of.ended_at, project: of.project ?? null, of })),
    ...lateRuns.map((of): Need => ({ kind: "lateRun", at: of.started_at, project: of.project ?? null, of })),
    ...lateSchedules.map(
      (of): Need => ({ kind: "lateSchedule", at: of.due_at ?? "", project: of.project ?? null, of }),
    ),
    ...refused.map((of): Need => ({ kind: "refused", at: of.refused_at, project: of.project ?? null, of })),
  ];
  return needs
    .filter((need) => project === null || need.project === project)
    .sort((one, other) => other.at.localeCompare(one.at));
}

/** What needs a person, of five kinds in one list. */
import type { Asked, FailedRun, LateRun, LateSchedule, Refused } from "./queries";

export type Need =
  | { kind: "failed"; of: FailedRun }
  | { kind: "lateRun"; of: LateRun }
  | { kind: "lateSchedule"; of: LateSchedule }
  | { kind: "refused"; of: Refused }
  | { kind: "asked"; of: Asked & { id: string } };

export interface Read {
  failed: FailedRun[];
  lateRuns: LateRun[];
  lateSchedules: LateSchedule[];
  refused: Refused[];
  asked: Asked[];
}

/** All that needs a person in a project (null = in all), newest first. */
export function needsOf({ failed, lateRuns, lateSchedules, refused, asked }: Read, project: string | null): Need[] {
  const needs: [string, Need][] = [
    ...failed.map((of): [string, Need] => [of.ended_at, { kind: "failed", of }]),
    ...lateRuns.map((of): [string, Need] => [of.started_at, { kind: "lateRun", of }]),
    ...lateSchedules.map((of): [string, Need] => [of.due_at ?? "", { kind: "lateSchedule", of }]),
    ...refused.map((of): [string, Need] => [of.refused_at, { kind: "refused", of }]),
    ...asked.map((of): [string, Need] => [of.since, { kind: "asked", of: { ...of, id: of.task_instance_id } }]),
  ];
  return needs
    .filter(([, { of }]) => project === null || of.project === project)
    .sort(([one], [other]) => other.localeCompare(one))
    .map(([, need]) => need);
}

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { progressOf } from "@/runs/queries";
import { ENDED } from "./model";
import type { RunPage } from "./queries";

const EVERY_MS = 2_000;

/** A run with what its running tasks report, and the time that is left: no event says these, so they are asked for. */
export function useProgress(run: RunPage): RunPage {
  const isEnded = ENDED.includes(run.state);
  const runs = run.tasks.some((attempt) => attempt.state === "RUNNING_EXECUTION");
  const { data } = useQuery({
    ...progressOf(isEnded ? [] : [run.id]),
    refetchInterval: !isEnded && runs && EVERY_MS,
  });
  return useMemo(() => {
    const now = data?.items.find((each) => each.id === run.id);
    if (now === undefined || isEnded) return run;
    const reports = new Map(now.reports.map((report) => [report.task_id, report.progress]));
    return {
      ...run,
      usual_s: now.usual_s ?? run.usual_s,
      tasks:
        reports.size === 0
          ? run.tasks
          : run.tasks.map((attempt) => {
              const progress = reports.get(attempt.id);
              return progress === undefined ? attempt : { ...attempt, progress };
            }),
    };
  }, [run, data, isEnded]);
}

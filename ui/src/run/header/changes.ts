/** What a person can change of a run: each is a command that a master takes; the answer says what became of it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, type Schemas } from "@/api/client";
import { ENDED } from "../model";
import type { RunPage } from "../queries";

/** Seconds that an answer may wait for a master to take the command. */
const WAIT = { query: { wait: 5 } };

export type Change =
  | { do: "pause" | "resume" | "stop" }
  | { do: "rerun"; what: Partial<Schemas["RerunRun"]> }
  | { do: "mark"; attempt: string }
  | { do: "restart"; tasks: string[] };

export interface Changed {
  change: Change;
  /** The command that was asked for; nothing for a task that was marked. */
  command: Schemas["CommandAsked"] | null;
}

/** Asks for changes of a run. */
export function useChange(run: RunPage) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (change: Change): Promise<Changed> => ({ change, command: await ask(run, change) }),
    onSuccess: () => {
      for (const word of ["run", "why", "run-events"]) void queries.invalidateQueries({ queryKey: [word, run.id] });
    },
  });
}

async function ask(run: RunPage, change: Change): Promise<Schemas["CommandAsked"] | null> {
  const params = { path: { id: run.id }, ...WAIT };
  switch (change.do) {
    case "pause":
      return api.POST("/api/v1/workflow-instances/{id}/pause", { params });
    case "resume":
      return api.POST("/api/v1/workflow-instances/{id}/resume", { params });
    case "stop":
      return api.POST("/api/v1/workflow-instances/{id}/stop", { params });
    case "rerun":
      return api.POST("/api/v1/workflow-instances/{id}/rerun", {
        params,
        body: { failed: false, tasks: [], newest: false, ...change.what },
      });
    case "restart":
      await api.POST("/api/v1/workflow-instances/{id}/restart-streams", {
        params: { path: { id: run.id } },
        body: { tasks: change.tasks },
      });
      return null;
    case "mark":
      await api.POST("/api/v1/task-instances/{id}/force-success", { params: { path: { id: change.attempt } } });
      return null;
  }
}

/** The keys of the sentences that say why something cannot be done; null = it can. */
export interface WhyNot {
  pause: string | null;
  resume: string | null;
  stop: string | null;
  rerun: string | null;
  failed: string | null;
  restart: string | null;
}

/** What stands in the way of each change, by the state of the run and the role of the reader. */
export function whyNot(state: string, mayOperate: boolean): WhyNot {
  if (!mayOperate) {
    const no = "not.role";
    return { pause: no, resume: no, stop: no, rerun: no, failed: no, restart: no };
  }
  const isEnded = ENDED.includes(state);
  const rerun = isEnded ? null : "not.stillRuns";
  const stop = isEnded ? "not.ended" : state === "READY_STOP" ? "not.stopping" : null;
  const pause = stop ?? (state === "READY_PAUSE" ? "not.pausing" : null);
  return {
    pause,
    stop,
    resume: state === "PAUSE" || state === "STOP" ? null : "not.notPaused",
    rerun,
    restart: pause,
    failed: rerun ?? (state === "FAILURE" ? null : "not.noFailure"),
  };
}

/** What is read of one run. The first words of the keys are those of live/changes.ts. */
import { keepPreviousData } from "@tanstack/react-query";
import { api, type Schemas } from "@/api/client";
import { paged } from "@/api/reads";

export type RunPage = Schemas["RunPageAnswer"] & {
  /** When it was read, in milliseconds: the times that are left count from then. */
  read_at: number;
};
/** So often a run is read again whose elements are under way. */
export const ELEMENTS_EVERY_MS = 2_000;
export type Attempt = Schemas["TaskAnswer"];

/** A run with its tasks. */
export function runOf(id: string) {
  return {
    queryKey: ["run", id],
    queryFn: async (): Promise<RunPage> => ({
      ...(await api.GET("/api/v1/workflow-instances/{id}", { params: { path: { id } } })),
      read_at: Date.now(),
    }),
  };
}

/** The elements of a task, by their index: those in one of these states, or all that have begun. */
export function elementsOf(id: string, task: string, state: Attempt["state"][]) {
  return {
    ...paged(["run", id, "elements", task, state], (at) =>
      api.GET("/api/v1/workflow-instances/{id}/elements", {
        params: { path: { id }, query: { task, limit: 50, ...(state.length > 0 && { state }), ...at } },
      }),
    ),
    placeholderData: keepPreviousData,
  };
}

/** What each parameter stands for in an attempt; that never changes. */
export function valuesSeenBy(attempt: string) {
  return {
    queryKey: ["attempt", attempt],
    queryFn: () => api.GET("/api/v1/task-instances/{id}", { params: { path: { id: attempt } } }),
    staleTime: Number.POSITIVE_INFINITY,
  };
}

/** What happened to a run. */
export function storyOf(id: string) {
  return {
    queryKey: ["run-events", id],
    queryFn: () => api.GET("/api/v1/workflow-instances/{id}/events", { params: { path: { id } } }),
  };
}

/** What is before a run in its line. Read again with the answer why. */
export function lineOf(id: string) {
  return {
    queryKey: ["why", id, "line"],
    queryFn: () => api.GET("/api/v1/workflow-instances/{id}/line", { params: { path: { id } } }),
  };
}

/** Why a run or a task of it does not move. */
export function whyOf(id: string, task: string | null) {
  return {
    queryKey: ["why", id, task],
    queryFn: () =>
      api.GET("/api/v1/workflow-instances/{id}/why", {
        params: { path: { id }, query: task === null ? {} : { task } },
      }),
    placeholderData: keepPreviousData,
  };
}

const ASKED_MAX = 1000;

/** What its tasks ask people. Read again with the answer why. */
export function askedBy(id: string) {
  return {
    queryKey: ["why", id, "approvals"],
    queryFn: () => api.GET("/api/v1/approvals", { params: { query: { run: id, limit: ASKED_MAX } } }),
  };
}

/** A version of a workflow; undefined = the newest. */
export function specOf(code: string, version: number | undefined) {
  return {
    queryKey: ["workflow", code, "version", version ?? "newest"],
    queryFn: () =>
      version === undefined
        ? api.GET("/api/v1/workflow-definitions/{code}", { params: { path: { code } } })
        : api.GET("/api/v1/workflow-definitions/{code}/versions/{version}", {
            params: { path: { code, version: String(version) } },
          }),
    ...(version !== undefined && { staleTime: Number.POSITIVE_INFINITY }),
  };
}

/** The tasks of the last runs of a workflow. */
export function gridOf(code: string) {
  return {
    queryKey: ["grid", code],
    queryFn: () =>
      api.GET("/api/v1/workflow-definitions/{code}/grid", { params: { path: { code }, query: { runs: 20 } } }),
    placeholderData: keepPreviousData,
  };
}

/** The names of the living masters and workers by their ids. */
export const nodeNames = {
  queryKey: ["cluster", "names"],
  queryFn: async (): Promise<Record<string, string>> => {
    const [masters, workers] = await Promise.all([api.GET("/api/v1/masters"), api.GET("/api/v1/workers")]);
    return Object.fromEntries([...masters.items, ...workers.items].map((node) => [node.epoch, node.name]));
  },
};

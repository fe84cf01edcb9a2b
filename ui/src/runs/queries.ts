/** What is read of runs. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, type Schemas } from "@/api/client";
import { asked } from "@/api/reads";
import type { RunFilter } from "./runFilter";

export type Run = Schemas["ListedRun"];
export const PAGE = 50;
const BARS = 48;

/** One page of the runs that match, newest first. */
export function runsPage(filter: RunFilter, cursor: string | undefined, limit = PAGE) {
  return queryOptions({
    queryKey: ["runs", filter, cursor ?? "", limit],
    queryFn: async () => {
      const page = await api.GET("/api/v1/workflow-instances", {
        params: { query: { ...filter, limit, ...(cursor && { cursor }) } },
      });
      // All fields are there, since none were chosen.
      return { ...page, items: page.items as Run[] };
    },
    placeholderData: keepPreviousData,
  });
}

/** How many runs match: exactly up to 10,000. */
export function runCount(filter: RunFilter) {
  return queryOptions({
    queryKey: ["run-counts", filter],
    queryFn: () => api.GET("/api/v1/workflow-instances:count", { params: { query: { ...filter, count: "exact" } } }),
    placeholderData: keepPreviousData,
  });
}

/** The runs that match, by the time of their start; without a time in the filter those of the last day. */
export function runHistogram(filter: RunFilter, bars = BARS) {
  return queryOptions({
    queryKey: ["histogram", filter, bars],
    queryFn: () => api.GET("/api/v1/workflow-instances:histogram", { params: { query: { ...filter, bars } } }),
    placeholderData: keepPreviousData,
  });
}

/** How far these runs are: states of their tasks, and the time left by the median of earlier runs. */
export function progressOf(ids: string[]) {
  return queryOptions({
    queryKey: ["run-progress", ids],
    queryFn: () => api.GET("/api/v1/workflow-instances:progress", { params: { query: { id: ids } } }),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
}

/** The last runs of workflows, and what their runs usually take. */
export function lastRunsOf(codes: string[], runs: number) {
  return queryOptions({
    queryKey: ["last-runs", codes, runs],
    queryFn: () => api.GET("/api/v1/workflow-definitions:last-runs", { params: { query: { code: codes, runs } } }),
    enabled: codes.length > 0,
    placeholderData: keepPreviousData,
  });
}

/** Names of workflows that begin so. */
export function workflowNames(project: string | null) {
  return asked(["workflows", "names", project], () =>
    api.GET("/api/v1/workflow-definitions", { params: { query: { limit: 200, ...(project && { project }) } } }),
  );
}

/** What is read of the workflows. */
import { keepPreviousData } from "@tanstack/react-query";
import { api, type Schemas } from "@/api/client";
import { asked, paged } from "@/api/reads";

export type Workflow = Schemas["ListedWorkflow"];
export type Schedule = Schemas["ScheduleAnswer"];

export interface WorkflowFilter {
  project?: string;
  q?: string;
  tag?: string[];
  release_state?: "ONLINE" | "OFFLINE";
}

const PAGE = 100;

/** The workflows that match, page by page. */
export function workflowsOf(filter: WorkflowFilter) {
  return {
    ...paged(["workflows", filter], (at) =>
      api.GET("/api/v1/workflow-definitions", { params: { query: { ...filter, limit: PAGE, ...at } } }),
    ),
    placeholderData: keepPreviousData,
  };
}

/** The last runs of a page of workflows, as bars. */
export function barsOf(codes: string[]) {
  return {
    queryKey: ["last-runs", codes],
    queryFn: () => api.GET("/api/v1/workflow-definitions:last-runs", { params: { query: { code: codes } } }),
    enabled: codes.length > 0,
    placeholderData: keepPreviousData,
  };
}

const SCHEDULES_MAX = 1000;

/** The schedules of all workflows that may be seen. */
export function schedulesIn(project: string | undefined) {
  return asked(["schedules", "of-workflows", project], () =>
    api.GET("/api/v1/schedules", {
      params: { query: { limit: SCHEDULES_MAX, ...(project !== undefined && { project }) } },
    }),
  );
}

/** The caller's own drafts. */
export function draftsIn(project: string | undefined) {
  return {
    queryKey: ["drafts", project],
    queryFn: () =>
      api.GET("/api/v1/workflow-drafts", {
        params: { query: { limit: 500, ...(project !== undefined && { project }) } },
      }),
    retry: false,
  };
}

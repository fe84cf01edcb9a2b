/** What the first screen reads. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, type Schemas } from "@/api/client";
import { asked } from "@/api/reads";

export type FailedRun = Schemas["FailedRunAnswer"];
export type LateRun = Schemas["LateRun"];
export type LateSchedule = Schemas["LateSchedule"];
export type Refused = Schemas["ErrorCommandAnswer"];
export type Asked = Schemas["WaitingApproval"];

/** The workflow that `shoal up` saves and runs once has always this code. */
export const SAMPLE = { code: "1001", name: "hello" };
export const NEED_MAX = 20;
const FIRES = 12;

/** Workflows whose last run failed, and nobody reran it with success since. */
export const failed = asked(["needs", "failed"], () =>
  api.GET("/api/v1/attention/failed", { params: { query: { limit: NEED_MAX } } }),
);

/** Runs that take longer than usual, and schedules that did not fire. Time alone makes something late: read again. */
export const late = queryOptions({
  queryKey: ["late"],
  queryFn: () => api.GET("/api/v1/attention/late", { params: { query: { limit: NEED_MAX } } }),
  refetchInterval: 30_000,
});

/** Commands that no master could handle. */
export const refused = asked(["error-commands", "newest"], () =>
  api.GET("/api/v1/error-commands", { params: { query: { limit: NEED_MAX } } }),
);

/** What waits for the answer of a person. */
export const approvals = asked(["needs", "approvals"], () =>
  api.GET("/api/v1/approvals", { params: { query: { limit: NEED_MAX } } }),
);

export const queue = asked(["queue", "counts"], () => api.GET("/api/v1/queue", { params: { query: { limit: 1 } } }));

/** The next fire times. What has fired leaves the list: read again. */
export function fires(project: string | null) {
  return queryOptions({
    queryKey: ["fires", project],
    queryFn: () =>
      api.GET("/api/v1/schedules:next", { params: { query: { count: FIRES, ...(project && { project }) } } }),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });
}

/** The first workflows: enough to know whether there are others than the sample. */
export const firstWorkflows = asked(["workflows", "first"], () =>
  api.GET("/api/v1/workflow-definitions", { params: { query: { limit: 2 } } }),
);

/** A run with its tasks. */
export function runOf(id: string) {
  return queryOptions({
    queryKey: ["run", id],
    queryFn: () => api.GET("/api/v1/workflow-instances/{id}", { params: { path: { id } } }),
    enabled: id !== "",
  });
}

/** What is read of attempts of tasks. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, type Schemas } from "@/api/client";
import type { paths } from "@/api/schema";
import { oneOf, type Search, textOf, textsOf, withValues } from "@/lists/filters";
import { TRIGGERS } from "@/runs/runFilter";

export type Attempt = Schemas["AttemptAnswer"];
export type AttemptFilter = Omit<
  NonNullable<paths["/api/v1/task-instances"]["get"]["parameters"]["query"]>,
  "limit" | "cursor" | "fields" | "count"
>;
type State = Schemas["TaskState"];

export const PAGE = 50;

export const STATES: readonly State[] = [
  "RUNNING_EXECUTION",
  "QUEUED",
  "DISPATCH",
  "DELAY_EXECUTION",
  "SUCCESS",
  "FAILURE",
  "KILL",
  "PAUSE",
  "NEED_FAULT_TOLERANCE",
  "SKIPPED",
  "FORCED_SUCCESS",
];

/** The filter that an address means, within the project of the top bar. */
export function attemptFilterOf(search: Search, project: string | null): AttemptFilter {
  return withValues({
    project: project ?? undefined,
    state: oneOf(search, "state", STATES),
    type: textsOf(search, "type"),
    trigger: oneOf(search, "trigger", TRIGGERS),
    parameter: textsOf(search, "parameter"),
    name: textOf(search, "name"),
    workflow: textOf(search, "workflow"),
    worker: textOf(search, "worker"),
    worker_group: textOf(search, "worker_group"),
    q: textOf(search, "q"),
    since: textOf(search, "since"),
    started_after: textOf(search, "started_after"),
    started_before: textOf(search, "started_before"),
  });
}

/** One page of the attempts that match, newest first; the first page says how many there are. */
export function attemptsPage(filter: AttemptFilter, cursor: string | undefined) {
  return queryOptions({
    queryKey: ["attempts", filter, cursor ?? ""],
    queryFn: async () => {
      const page = await api.GET("/api/v1/task-instances", {
        params: { query: { ...filter, limit: PAGE, ...(cursor && { cursor }) } },
      });
      // All fields are there, since none were chosen.
      return { ...page, items: page.items as Attempt[] };
    },
    placeholderData: keepPreviousData,
  });
}

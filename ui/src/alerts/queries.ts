/** What is read of alerts. The first part of each key is the word of live/changes.ts. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, type Schemas } from "@/api/client";
import { asked, paged } from "@/api/reads";
import type { paths } from "@/api/schema";
import { oneOf, type Search, textOf, withValues } from "@/lists/filters";

export type Alert = Schemas["AlertAnswer"];
export type Delivery = Schemas["DeliveryAnswer"];
export type AlertKind = Schemas["AlertKind"];
export type Channel = Schemas["ChannelAnswer"];
export type Group = Schemas["GroupAnswer"];
export type Rule = Schemas["RuleAnswer"];
export type Silence = Schemas["SilenceAnswer"];
export type AlertFilter = Omit<
  NonNullable<paths["/api/v1/alerts"]["get"]["parameters"]["query"]>,
  "limit" | "cursor" | "fields" | "count"
>;

export const PAGE = 50;
const RULES_PAGE = 200;
/** What no event reports, such as that a rule's workflow is gone, is read again after this time. */
const AGAIN_MS = 30_000;

export const KINDS: readonly AlertKind[] = [
  "RUN_ENDED",
  "APPROVAL",
  "TASK_TIMEOUT",
  "RUN_TIMEOUT",
  "FAILOVER",
  "SCHEDULE_MISSED",
  "SCHEDULE_RESTS",
  "GROUP_WITHOUT_WORKERS",
  "ERROR_COMMANDS",
  "POOL_STANDS",
  "QUEUE_STANDS",
  "DATABASE_WENT_BACK",
  "RULE",
  "RECOVERED",
  "SQL_RESULT",
  "TEST",
];

export const RESULTS = ["FAILED", "WAIT", "NOBODY", "SILENCED"] as const;

/** The filter that an address means, within the project of the top bar. */
export function alertFilterOf(search: Search, project: string | null): AlertFilter {
  return withValues({
    project: project ?? undefined,
    kind: oneOf(search, "kind", KINDS),
    result: oneOf(search, "result", RESULTS)[0],
    workflow: textOf(search, "workflow"),
    run: /^\d{1,19}$/.test(textOf(search, "run") ?? "") ? textOf(search, "run") : undefined,
  });
}

/** One page of the alerts that match, newest first. */
export function alertsPage(filter: AlertFilter, cursor: string | undefined) {
  return queryOptions({
    queryKey: ["alerts", "history", filter, cursor ?? ""],
    queryFn: async () => {
      const page = await api.GET("/api/v1/alerts", {
        params: { query: { ...filter, limit: PAGE, ...(cursor && { cursor }) } },
      });
      return { ...page, items: page.items as Alert[] };
    },
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
  });
}

/** One alert with its facts. */
export function alertOf(id: string) {
  return asked(["alerts", "one", id], () => api.GET("/api/v1/alerts/{id}", { params: { path: { id } } }));
}

/** The rules of a project; null = of all that one may see. */
export function rules(project: string | null) {
  return {
    ...paged(["alerts", "rules", project], async (at) => {
      const query = { limit: RULES_PAGE, ...(project !== null && { project }), ...at };
      const page = await api.GET("/api/v1/alert-rules", { params: { query } });
      return { ...page, items: page.items as Rule[] };
    }),
    refetchInterval: AGAIN_MS,
  };
}

/** What a rule says that is being written. */
export function checkedRule(project: string, text: string) {
  return queryOptions({
    queryKey: ["alerts", "check", project, text],
    queryFn: () => api.POST("/api/v1/alert-rules:check", { body: { project, text } }),
    placeholderData: keepPreviousData,
    retry: false,
  });
}

export const channels = queryOptions({
  queryKey: ["alerts", "channels"],
  queryFn: () => api.GET("/api/v1/alert-channels"),
  refetchInterval: AGAIN_MS,
});

export const groups = asked(["alerts", "groups"], () => api.GET("/api/v1/alert-groups"));

/** The silences that are or will be; `past`: those too that are over. */
export function silences(past: boolean) {
  return queryOptions({
    queryKey: ["alerts", "silences", past],
    queryFn: () => api.GET("/api/v1/alert-silences", { params: { query: { past } } }),
    placeholderData: keepPreviousData,
  });
}

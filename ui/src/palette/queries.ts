/** What the palette finds on the server. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

/** Workflows, projects, runs, schedules, masters and workers by a part of their name. */
export function found(typed: string) {
  return queryOptions({
    queryKey: ["search", typed],
    queryFn: () => api.GET("/api/v1/search", { params: { query: { q: typed } } }),
    enabled: typed !== "",
    placeholderData: typed === "" ? undefined : keepPreviousData,
  });
}

/** Workflows that can be started, by a part of their name. */
export function startable(typed: string) {
  return queryOptions({
    queryKey: ["search", "startable", typed],
    queryFn: () =>
      api.GET("/api/v1/workflow-definitions", {
        params: { query: { limit: 20, release_state: "ONLINE", ...(typed !== "" && { q: typed }) } },
      }),
    placeholderData: keepPreviousData,
  });
}

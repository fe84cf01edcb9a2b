/** What is read of the queue. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";

export type Queue = Schemas["QueueAnswer"];
export type Waiting = Schemas["WaitingCommandAnswer"];
export type ErrorCommand = Schemas["ErrorCommandAnswer"];
export type Correction = Schemas["CorrectedCommand"];

const SHOWN_MAX = 200;
const PAGE = 50;

/** All that waits. Ages grow without an event, so it is read again every few seconds while something waits. */
export const queue = queryOptions({
  queryKey: ["queue"],
  queryFn: () => api.GET("/api/v1/queue", { params: { query: { limit: SHOWN_MAX } } }),
  refetchInterval: ({ state }) => ((state.data?.commands.length ?? 0) > 0 ? 2_000 : 15_000),
});

/** Why a command waits, in a sentence. */
export function whyOf(id: string) {
  return queryOptions({
    queryKey: ["commands", id, "why"],
    queryFn: () => api.GET("/api/v1/commands/{id}/why", { params: { path: { id } } }),
    staleTime: 5_000,
  });
}

/** What became of a command that was asked for. */
export function commandOf(id: string) {
  return queryOptions({
    queryKey: ["commands", id],
    queryFn: () => api.GET("/api/v1/commands/{id}", { params: { path: { id } } }),
    refetchInterval: ({ state }) => (state.data?.handled_at == null ? 1_000 : false),
  });
}

/** Refused commands, newest first. */
export function errorCommands(cursor: string | undefined) {
  return queryOptions({
    queryKey: ["error-commands", cursor ?? ""],
    queryFn: () => api.GET("/api/v1/error-commands", { params: { query: { limit: PAGE, ...(cursor && { cursor }) } } }),
    placeholderData: keepPreviousData,
  });
}

/** Have all that shows the queue read again. */
export async function changedQueue(): Promise<void> {
  await Promise.all(["queue", "error-commands"].map((word) => queries.invalidateQueries({ queryKey: [word] })));
}

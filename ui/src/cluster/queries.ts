/** What is read of the cluster. Keys begin with the words of live/changes.ts. */
import { queryOptions } from "@tanstack/react-query";
import { api, type Schemas } from "@/api/client";
import { asked } from "@/api/reads";
import { type Figures, joined } from "./figures/series";

export type Node = Schemas["NodeAnswer"];
export type Group = Schemas["WorkerGroupAnswer"];
export type Duty = Schemas["DutyAnswer"];
export type Check = Schemas["CheckAnswer"];

export const slots = asked(["slots"], () => api.GET("/api/v1/slots"));

export const workers = asked(["cluster", "workers"], () => api.GET("/api/v1/workers"));

export const workerGroups = asked(["cluster", "groups"], () => api.GET("/api/v1/worker-groups"));

export const claims = asked(["cluster", "claims"], () => api.GET("/api/v1/claims"));

export const registry = asked(["cluster", "registry"], () => api.GET("/api/v1/registry"));

export const database = asked(["database"], () => api.GET("/api/v1/database"));

/** What is done once in a while for the whole cluster. */
export const duties = asked(["cluster", "duties"], () => api.GET("/api/v1/duties"));

export const doctor = asked(["doctor"], () => api.GET("/api/v1/doctor"));

/** The settings of the process that answers, and the times that all nodes keep. */
export const settings = queryOptions({
  queryKey: ["settings"],
  queryFn: () => api.GET("/api/v1/settings"),
  staleTime: 600_000,
});

export const version = queryOptions({
  queryKey: ["version"],
  queryFn: () => api.GET("/api/v1/version"),
  staleTime: 600_000,
});

export const queue = asked(["queue", { limit: 5 }], () =>
  api.GET("/api/v1/queue", { params: { query: { limit: 5 } } }),
);

/** The figures of the last hour: each time only those that are not known yet are asked for. */
export const figures = queryOptions({
  queryKey: ["figures"],
  queryFn: async ({ client }): Promise<{ every_s: number; items: Figures[] }> => {
    const known = client.getQueryData<{ items: Figures[] }>(["figures"])?.items ?? [];
    const since = known.at(-1)?.at;
    const page = await api.GET("/api/v1/cluster-figures", { params: { query: since === undefined ? {} : { since } } });
    return { every_s: page.every_s, items: joined(known, page.items) };
  },
  staleTime: 0,
});

/** Whether a master can be killed as a drill: only an administrator may ask. */
export const drill = asked(["cluster", "drill"], () => api.GET("/api/v1/drill"));

/** To which slot a command belongs, and what became of it. */
export function commandSlot(id: string) {
  return queryOptions({
    queryKey: ["queue", "slot-of", id],
    queryFn: () => api.GET("/api/v1/commands/{id}/slot", { params: { path: { id } } }),
    retry: false,
  });
}

/** What a change of slots cost: who got whose runs, and what was lost or doubled. */
export function receipt(number: number) {
  return asked(["slot-changes", "receipt", number], () =>
    api.GET("/api/v1/slot-changes/{number}/receipt", { params: { path: { number: String(number) } } }),
  );
}

/** The last change of slots; null = there was none within 24 hours. */
export const lastChange = queryOptions({
  queryKey: ["slot-changes", "last"],
  queryFn: async () => {
    const page = await api.GET("/api/v1/slot-changes", { params: { query: { since: "1s" } } });
    return page.items.at(-1) ?? null;
  },
});

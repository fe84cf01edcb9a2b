/** What is read of resource pools. Keys begin with the word of live/changes.ts. */
import { api, type Schemas } from "@/api/client";
import { asked, paged } from "@/api/reads";

export type Pool = Schemas["PoolAnswer"];
export type PoolContent = Schemas["PoolContent"];
export type Resource = Schemas["ResourceAnswer"];
export type WaitingTask = Schemas["WaitingTaskAnswer"];
export type ResourceState = Schemas["ResourceState"];

/** The states in which a resource can be, in the order of the filter. */
export const STATES: readonly ResourceState[] = ["FREE", "TAKEN", "SET_ASIDE", "CHECKING", "REMOVED"];
const PAGE = 100;
/** A lease is extended with each beat of its worker, which nobody says. */
const LEASES_EVERY_MS = 5_000;

/** The pools by name. */
export const pools = paged(["pools", "list"], (at) =>
  api.GET("/api/v1/resource-pools", { params: { query: { limit: PAGE, ...at } } }),
);

export function poolOf(name: string) {
  return asked(["pools", "one", name], () => api.GET("/api/v1/resource-pools/{name}", { params: { path: { name } } }));
}

/** The resources of a pool in the order of its file, of one state or of all. */
export function resourcesOf(name: string, state: ResourceState | null) {
  return {
    ...paged(["pools", "resources", name, state], (at) =>
      api.GET("/api/v1/resource-pools/{name}/resources", {
        params: { path: { name }, query: { limit: PAGE, ...(state && { state: [state] }), ...at } },
      }),
    ),
    refetchInterval: LEASES_EVERY_MS,
  };
}

/** Who waits for a pool, in their order. */
export function lineOf(name: string) {
  return paged(["pools", "line", name], (at) =>
    api.GET("/api/v1/resource-pools/{name}/line", { params: { path: { name }, query: { limit: PAGE, ...at } } }),
  );
}

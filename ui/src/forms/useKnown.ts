import { useQuery } from "@tanstack/react-query";
import { groups } from "@/alerts/queries";
import { dataSources, environments, workerGroups } from "@/editor/queries";

/** Names that exist, for fields that name something. */
export function useKnown(): Record<string, string[]> {
  const ofWorkers = useQuery(workerGroups).data?.items?.map((each) => each.worker_group) ?? [];
  const rooms = useQuery(environments).data?.items.map((each) => each.name) ?? [];
  const sources = useQuery(dataSources).data?.items.map((each) => each.name) ?? [];
  return {
    worker_group: ofWorkers.length === 0 ? [] : [...new Set(["default", ...ofWorkers])],
    environment: rooms,
    alert_group: useQuery(groups).data?.items.map((each) => each.name) ?? [],
    datasource: sources,
    data_sources: sources,
  };
}

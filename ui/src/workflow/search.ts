/** What the address of a workflow's page says. */
import { useSearch } from "@tanstack/react-router";
import { useAddress } from "@/parts/useAddress";

export const TABS = ["graph", "runs", "schedule", "versions", "settings"] as const;
export type Tab = (typeof TABS)[number];

export interface WorkflowSearch {
  tab?: Tab;
  /** The selected nodes of the canvas. */
  select?: string[];
  /** With the YAML next to the canvas; by default where there is room. */
  yaml?: boolean;
  older?: number;
  newer?: number;
  view?: "beside" | "one" | "graph";
}

/** The parts of an address that this page knows. */
export function checked(given: Record<string, unknown>): WorkflowSearch {
  const number = (value: unknown) => (typeof value === "number" && Number.isInteger(value) ? value : undefined);
  return {
    tab: TABS.find((tab) => tab === given.tab),
    select: Array.isArray(given.select) ? given.select.filter((each) => typeof each === "string") : undefined,
    yaml: typeof given.yaml === "boolean" ? given.yaml : undefined,
    older: number(given.older),
    newer: number(given.newer),
    view: given.view === "one" || given.view === "graph" ? given.view : undefined,
  };
}

/** The address, and how parts of it are changed in place. */
export function useWorkflowSearch() {
  const search = checked(useSearch({ strict: false }) as Record<string, unknown>);
  return { search, change: useAddress<WorkflowSearch>() };
}

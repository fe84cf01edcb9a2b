/** What the address of the page says: tab, moment, command. */
import { useSearch } from "@tanstack/react-router";
import { useAddress } from "@/parts/useAddress";

export const TABS = [
  "slots",
  "masters",
  "workers",
  "registry",
  "database",
  "failovers",
  "pools",
  "duties",
  "doctor",
] as const;
export type Tab = (typeof TABS)[number];
export const SPANS = { "15m": 900_000, "2h": 7_200_000, "24h": 86_400_000 } as const;
export type Span = keyof typeof SPANS;

export interface ClusterSearch {
  tab?: Tab;
  /** The moment that is shown; left out: now. */
  at?: string;
  /** How much time the scrubber spans. */
  span?: Span;
  /** The id of the command that is asked about. */
  command?: string;
  /** The resource pool that is shown; left out: the list of all. */
  pool?: string;
  /** The slots as a table instead of the picture. */
  view?: "table";
}

/** The parts of an address that mean something here. */
export function readSearch(given: Record<string, unknown>): ClusterSearch {
  const { tab, at, span, command, pool, view } = given;
  return {
    ...(TABS.includes(tab as Tab) && { tab: tab as Tab }),
    ...(typeof at === "string" && !Number.isNaN(Date.parse(at)) && { at }),
    ...(typeof span === "string" && span in SPANS && { span: span as Span }),
    ...(/^\d{1,19}$/.test(String(command)) && { command: String(command) }),
    ...((typeof pool === "string" || typeof pool === "number") && pool !== "" && { pool: String(pool) }),
    ...(view === "table" && { view }),
  };
}

/** The address, and how to change parts of it: undefined takes one away. */
export function useClusterSearch(): [ClusterSearch, (changes: Partial<ClusterSearch>) => void] {
  return [readSearch(useSearch({ strict: false }) as Record<string, unknown>), useAddress()];
}

/** What the address of a run's page says in addition to its id: the tab, the chosen task, and where in its log. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";

export const TABS = ["graph", "gantt", "grid", "logs", "events", "parameters"] as const;
export type Tab = (typeof TABS)[number];

export interface RunSearch {
  tab?: Tab;
  /** The chosen task, by name. */
  task?: string;
  /** The attempt whose log is shown; else the last one. */
  attempt?: string;
  /** A line of the log: it begins after so many bytes. */
  at?: number;
  /** What is looked for in the log. */
  q?: string;
  wrap?: boolean;
  /** The logs of all tasks, one after the other. */
  merged?: boolean;
  /** Only tasks in this state. */
  only?: string;
  /** Only tasks with this in their name. */
  find?: string;
  /** Only events of this kind. */
  about?: "commands" | "tasks";
}

/** The search parameters that are what they should be; others are left out. */
export function readSearch(given: Record<string, unknown>): RunSearch {
  const text = (name: string) => (given[name] === undefined || given[name] === "" ? undefined : String(given[name]));
  const at = Number(given.at);
  const found: RunSearch = {
    tab: TABS.find((tab) => tab === given.tab && tab !== "graph"),
    task: text("task"),
    attempt: text("attempt"),
    at: given.at !== undefined && Number.isSafeInteger(at) && at >= 0 ? at : undefined,
    q: text("q"),
    wrap: given.wrap === true || undefined,
    merged: given.merged === true || undefined,
    only: text("only"),
    find: text("find"),
    about: given.about === "commands" || given.about === "tasks" ? given.about : undefined,
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

/** The search parameters as they stand in the address: an id without quotes. */
function written(search: RunSearch): Record<string, unknown> {
  const id = Number(search.attempt);
  return { ...search, ...(search.attempt !== undefined && Number.isSafeInteger(id) && { attempt: id }) };
}

/** The address' search parameters, and a function that changes some of them without a new place in the history. */
export function useRunSearch(): [RunSearch, (change: Partial<RunSearch>) => void] {
  const given = useSearch({ strict: false }) as Record<string, unknown>;
  const navigate = useNavigate();
  const search = useMemo(() => readSearch(given), [given]);
  const change = useCallback(
    (change: Partial<RunSearch>) =>
      void navigate({
        to: ".",
        search: (old: Record<string, unknown>) => written(readSearch({ ...old, ...change })),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  return [search, change];
}

/** What the address of the page says: which schedules, which weeks and day, and what is being edited. */
import type { Filter } from "./queries";

/** A type, so that it fits where any words are taken. */
export type Search = {
  q?: string;
  workflow?: string;
  project?: string;
  state?: "ONLINE" | "OFFLINE";
  /** The Monday with which the calendar begins. */
  from?: string;
  day?: string;
  edit?: string;
  /** The code of the workflow that a new schedule is for, or "" = to be chosen. */
  add?: string;
};

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The words that this page knows; all others are left out. */
export function searchOf(given: Record<string, unknown>): Search {
  const text = (name: string) => (given[name] === undefined || given[name] === null ? undefined : String(given[name]));
  const day = (name: string) => (DAY.test(text(name) ?? "") ? text(name) : undefined);
  const state = text("state");
  return Object.fromEntries(
    Object.entries({
      q: text("q") || undefined,
      workflow: text("workflow"),
      project: text("project"),
      state: state === "ONLINE" || state === "OFFLINE" ? state : undefined,
      from: day("from"),
      day: day("day"),
      edit: text("edit"),
      add: text("add"),
    }).filter(([, value]) => value !== undefined),
  );
}

/** The part of the address that the API filters by. */
export function filterOf({ workflow, project, state }: Search, chosen: string | null): Filter {
  const of = project ?? chosen;
  return { ...(of && { project: of }), ...(workflow && { workflow }), ...(state && { state }) };
}

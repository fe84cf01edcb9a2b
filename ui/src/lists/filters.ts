/** The filters of a list as the words of an address: the same names as in the API and on the command line. */
import { useNavigate, useSearch } from "@tanstack/react-router";

export type Search = Record<string, unknown>;

/** The texts under a name: an address may have one, several, or something that looks like a number. */
export function textsOf(search: Search, name: string): string[] {
  const given = search[name];
  const all = Array.isArray(given) ? given : [given];
  return all.filter((each) => each !== undefined && each !== null && each !== "").map(String);
}

/** The first text under a name, or nothing. */
export function textOf(search: Search, name: string): string | undefined {
  return textsOf(search, name)[0];
}

/** Those of the texts under a name that are one of `known`: a wrong word in an address is no filter. */
export function oneOf<T extends string>(search: Search, name: string, known: readonly T[]): T[] {
  const given = textsOf(search, name);
  return known.filter((each) => given.includes(each));
}

/** Only what has a value, in the order of the names: equal filters give equal keys. */
export function withValues<T extends object>(filter: T): T {
  return Object.fromEntries(
    Object.entries(filter)
      .filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0))
      .sort(([one], [other]) => one.localeCompare(other)),
  ) as T;
}

/** Whether two filters mean the same; what is not a filter, such as the page, was left out before. */
export function isSame(one: object, other: object): boolean {
  return JSON.stringify(withValues(one)) === JSON.stringify(withValues(other));
}

/** Words of the address that say where in the list one is, and not what is in it. */
const PLACE = ["cursor", "page", "row", "why", "task", "operation"];

/** What of an address is a filter. */
export function filterWords(search: Search): Search {
  return Object.fromEntries(Object.entries(search).filter(([name]) => !PLACE.includes(name)));
}

export interface Filters {
  search: Search;
  /** Change some filters: undefined takes one away. The list begins at its newest again. */
  change: (changes: Search) => void;
  /** Take these filters and no others. */
  replace: (search: Search) => void;
  /** Change where in the list one is, without a step in the browser's history. */
  place: (changes: Search) => void;
}

/** The filters in the address of this page, and how to change them. */
export function useFilters(): Filters {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const go = (to: Search, replace: boolean, resetScroll: boolean) =>
    void navigate({ to: ".", search: withValues(to) as never, replace, resetScroll });
  return {
    search,
    change: (changes) => go({ ...filterWords(search), ...changes }, false, false),
    replace: (wanted) => go(wanted, false, false),
    place: (changes) => go({ ...search, ...changes }, true, false),
  };
}

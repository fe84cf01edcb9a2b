/** In which order a list is shown that is there as a whole. In the address: `?sort=name`, or `-name` from the end. */
import { textOf, useFilters } from "./filters";

type Value = string | number | null | undefined;

export interface Order {
  /** The column by which it is sorted; null = as it came. */
  by: string | null;
  isDown: boolean;
  /** Sort by a column; by the same one from the end, then as it came. */
  press: (by: string) => void;
}

/** The order that the address asks for, and these rows in it. */
export function useOrder<T>(rows: T[], values: Record<string, (row: T) => Value>): [Order, T[]] {
  const { search, place } = useFilters();
  const asked = textOf(search, "sort") ?? "";
  const isDown = asked.startsWith("-");
  const by = isDown ? asked.slice(1) : asked;
  const value = values[by];
  const order: Order = {
    by: value === undefined ? null : by,
    isDown,
    press: (next) => place({ sort: next !== by ? next : isDown ? undefined : `-${next}` }),
  };
  return [order, value === undefined ? rows : inOrder(rows, value, isDown)];
}

/** Rows in the order of a value; those without one come last, whichever end is first. */
export function inOrder<T>(rows: T[], value: (row: T) => Value, isDown = false): T[] {
  const sign = isDown ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a == null || b == null) return (a == null ? 1 : 0) - (b == null ? 1 : 0);
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  });
}

/** Values that any part of the page may change, and some parts show. */
import { useSyncExternalStore } from "react";

export interface Shared<T> {
  now: () => T;
  set: (to: T) => void;
  /** The value; what calls it is drawn again when it changes. */
  use: () => T;
}

/** One that is `first` at first; `keep` is called with what it becomes. */
export function shared<T>(first: T, keep?: (to: T) => void): Shared<T> {
  let value = first;
  const watchers = new Set<() => void>();
  const now = () => value;
  const watch = (changed: () => void) => {
    watchers.add(changed);
    return () => void watchers.delete(changed);
  };
  function useValue(): T {
    return useSyncExternalStore(watch, now);
  }
  return {
    now,
    set: (to) => {
      value = to;
      keep?.(to);
      for (const changed of watchers) changed();
    },
    use: useValue,
  };
}

/** One that this browser keeps, `first` where it has none. */
export function kept<T>(key: string, first: T): Shared<T> {
  return shared(read(key, first), (to) => localStorage.setItem(key, JSON.stringify(to)));
}

function read<T>(key: string, first: T): T {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? "null") as T | null) ?? first;
  } catch {
    return first;
  }
}

import { useEffect, useRef } from "react";
import { SEARCH_ID } from "./FilterBar";

interface Rows {
  /** The rows that are shown, by id, from the top. */
  ids: string[];
  /** The row that the keys are about. */
  at: string | null;
  go: (id: string) => void;
  /** What a key does with the row; `enter` opens it. */
  keys: Record<string, (id: string) => void>;
  help: () => void;
}

/**
 * The keys of a list: `j` and `k` go through its rows, `/` to the text filter, `?` to the help; others act on the row.
 * A key that follows another faster than the address changes is about the row to which that one went.
 */
export function useRowKeys({ ids, at, go, keys, help }: Rows): void {
  const latest = useRef(at);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows forget where a key went among the former ones
  useEffect(() => {
    latest.current = at;
  }, [at, ids]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const from = latest.current;
      const place = from === null ? -1 : ids.indexOf(from);
      const act = from === null ? undefined : keys[event.key.toLowerCase()];
      if (event.key === "/") document.getElementById(SEARCH_ID)?.focus();
      else if (event.key === "?") help();
      else if (event.key === "j" || event.key === "k") {
        const to = ids[event.key === "j" ? Math.min(ids.length - 1, place + 1) : Math.max(0, place - 1)];
        if (to === undefined) return;
        latest.current = to;
        go(to);
        document.querySelector(`tr[data-row="${CSS.escape(to)}"]`)?.scrollIntoView({ block: "nearest" });
      } else if (act !== undefined && from !== null && !(event.key === "Enter" && isControl(event.target))) act(from);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [ids, go, keys, help]);
}

/** Whether keys belong to a field, or to a dialog above the page. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const isField = target instanceof HTMLInputElement && !["checkbox", "button"].includes(target.type);
  return isField || target.isContentEditable || target.closest("textarea, select, [role=dialog], [role=menu]") !== null;
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("a, button, input") !== null;
}

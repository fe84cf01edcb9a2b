/** Whether the search field of the page is open, and for what: anything may open it. */
import { useSyncExternalStore } from "react";

/** `all`: search and commands; `start`: only workflows, to start one. */
export type PaletteMode = "all" | "start";

let mode: PaletteMode | null = null;
const listeners = new Set<() => void>();

export function openPalette(wanted: PaletteMode): void {
  change(wanted);
}

export function closePalette(): void {
  change(null);
}

/** What the palette is open for; null = it is closed. */
export function usePaletteMode(): PaletteMode | null {
  return useSyncExternalStore(
    (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    () => mode,
  );
}

function change(to: PaletteMode | null): void {
  mode = to;
  for (const each of listeners) each();
}

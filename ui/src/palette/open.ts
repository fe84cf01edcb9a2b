import { shared } from "@/parts/shared";

/** `all`: search and commands; `start`: only workflows, to start one. */
export type PaletteMode = "all" | "start";

/** What the search field of the page is open for; null = it is closed. Anything may open it. */
export const palette = shared<PaletteMode | null>(null);

/** The runs that match, as a file: the newest ones, so many at most. Loaded when somebody asks for it. */
import { api } from "@/api/client";
import { saveFile } from "@/parts/saveFile";
import { csvOf } from "./csv";
import type { Run } from "./queries";
import type { RunFilter } from "./runFilter";

export const EXPORTED_MAX = 10_000;
const PAGE = 500;

export type Format = "csv" | "json";

export interface Exported {
  runs: number;
  /** There are older ones that match and are not in the file. */
  isCut: boolean;
}

/** Read page after page of the runs that match, newest first, and hand them to the browser as a file. */
export async function exportRuns(filter: RunFilter, format: Format): Promise<Exported> {
  const runs: Run[] = [];
  let cursor: string | undefined;
  do {
    const query = { ...filter, limit: PAGE, ...(cursor !== undefined && { cursor }) };
    const page = await api.GET("/api/v1/workflow-instances", { params: { query } });
    runs.push(...(page.items as Run[]));
    cursor = page.has_more && page.next_cursor ? page.next_cursor : undefined;
  } while (cursor !== undefined && runs.length < EXPORTED_MAX);
  const shown = runs.slice(0, EXPORTED_MAX);
  saveFile(`runs.${format}`, format === "csv" ? csvOf(shown) : `${JSON.stringify(shown, null, 2)}\n`);
  return { runs: shown.length, isCut: cursor !== undefined || runs.length > EXPORTED_MAX };
}

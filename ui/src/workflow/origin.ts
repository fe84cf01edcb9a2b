/** Where a workflow comes from: a folder of files, or flows of the SDK (service/workflows/folder_sync.py). */
export interface Origin {
  origin: string;
  /** "" = not known. */
  commit: string;
}

const MARKED = /^# shoal workflow sync: origin (\S+), (?:commit (\S+), )?version (\d+)\n/;
const COMMIT_SHOWN = 10;

/** What the first line of a version's text says; null if somebody else saved that version. */
export function originOf(text: string, version: number): Origin | null {
  const found = MARKED.exec(text);
  if (found === null || Number(found[3]) !== version) return null;
  return { origin: found[1] ?? "", commit: (found[2] ?? "").slice(0, COMMIT_SHOWN) };
}

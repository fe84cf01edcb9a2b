/** When what is typed and what is there no longer fit: somebody published meanwhile, or another window has the draft. */
import type { Source } from "@/editor/queries";

/** What a text began from. */
export interface Seen {
  text: string;
  /** The version that was published then; undefined = there was none. */
  base: number | undefined;
  /** The revision of the draft; undefined = there was none. */
  revision: number | undefined;
}

export interface Clash {
  kind: "published" | "draft";
  /** What is there now. */
  source: Source;
  /** The text that is there now. */
  theirs: string;
}

/** How what is there now differs from what was seen; null: it does not. A workflow that is gone is no clash. */
export function clashOf(source: Source, seen: Seen): Clash | null {
  const { head, draft, published } = source;
  if (head !== null && head.version !== seen.base) return { kind: "published", source, theirs: published };
  if (draft?.revision !== seen.revision) return { kind: "draft", source, theirs: draft?.content ?? published };
  return null;
}

/** Edits of the notes on the canvas, which are in the workflow's `layout`. */
import { isSeq, type YAMLMap } from "yaml";
import { open, rounded, setIn, written } from "./edits";
import type { Note } from "./read";

const PATH = ["layout", "notes"] as const;

/** Add a note. */
export function addNote(text: string, note: Note): string {
  const document = open(text);
  const node = document.createNode(tidy(note)) as YAMLMap;
  node.flow = true;
  const list = document.getIn(PATH);
  if (isSeq(list)) list.items.push(node);
  else {
    setIn(document, PATH, []);
    const made = document.getIn(PATH);
    if (isSeq(made)) {
      made.flow = false;
      made.items.push(node);
    }
  }
  return written(document);
}

/** Change some fields of a note. */
export function changeNote(text: string, at: number, change: Partial<Note>): string {
  const document = open(text);
  for (const [field, value] of Object.entries(tidy(change))) setIn(document, [...PATH, at, field], value);
  return written(document);
}

/** Remove notes. */
export function removeNotes(text: string, places: number[]): string {
  const document = open(text);
  const list = document.getIn(PATH);
  if (isSeq(list)) list.items = list.items.filter((_, at) => !places.includes(at));
  if (isSeq(list) && list.items.length === 0) setIn(document, PATH, undefined);
  return written(document);
}

function tidy<T extends Partial<Note>>(note: T): T {
  return Object.fromEntries(
    Object.entries(note).map(([field, value]) => [field, typeof value === "number" ? rounded(value) : value]),
  ) as T;
}

/** Undo and redo of a text. Edits of one kind that follow each other quickly are undone together. */
export interface History {
  text: string;
  past: string[];
  future: string[];
  /** Kind and time of the last edit. */
  kind: string;
  at: number;
}

const TOGETHER_MS = 900;
const STEPS_MAX = 300;

/** A text without a past. */
export function begin(text: string): History {
  return { text, past: [], future: [], kind: "", at: 0 };
}

/** After an edit of a kind; an empty kind is never joined with the one before. */
export function edited(history: History, text: string, kind: string, at: number): History {
  if (text === history.text) return history;
  const isTogether = kind !== "" && kind === history.kind && at - history.at < TOGETHER_MS;
  const past = isTogether ? history.past : [...history.past, history.text].slice(-STEPS_MAX);
  return { text, past, future: [], kind, at };
}

/** One step back. */
export function undone(history: History): History {
  const text = history.past.at(-1);
  if (text === undefined) return history;
  return { text, past: history.past.slice(0, -1), future: [history.text, ...history.future], kind: "", at: 0 };
}

/** One step forward. */
export function redone(history: History): History {
  const [text, ...future] = history.future;
  if (text === undefined) return history;
  return { text, past: [...history.past, history.text], future, kind: "", at: 0 };
}

/** A workflow's YAML text as a graph. The text is the truth: this is a pure function of it. */
import { type Document, isMap, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from "yaml";

export interface Place {
  x: number;
  y: number;
}

export interface Note extends Place {
  text: string;
  w: number;
  h: number;
}

export interface Task {
  name: string;
  type: string;
  after: string[];
  params: Record<string, unknown>;
  /** All that the text says of it, as plain values. */
  fields: Record<string, unknown>;
  /** In which frame it is shown; "" = in none. */
  group: string;
  isOff: boolean;
  /** Its first and last line, from 1. */
  line: number;
  lastLine: number;
}

export interface Edge {
  from: string;
  to: string;
  /** Of a branch. */
  branch?: Branch;
}

/** Why one comes next; `when` is the condition of a case. */
export type Branch = { when: string } | { word: "default" | "success" | "failure" };

export interface Graph {
  name: string;
  project: string;
  tasks: Task[];
  edges: Edge[];
  notes: Note[];
  places: Record<string, Place>;
  /** All fields of the workflow but its tasks, schedules and layout. */
  fields: Record<string, unknown>;
}

/** Why a text cannot be shown as a graph: the message of the YAML reader, or a word of ours. */
export interface Fault {
  line: number;
  word: "yaml" | "notWorkflow" | "manyDocuments" | "tasksNotList" | "taskNotMap";
  said: string;
}

export type Read = { graph: Graph; fault: null } | { graph: null; fault: Fault };

/** The graph that a text describes, or why there is none. */
export function read(text: string): Read {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [error] = document.errors;
  if (error !== undefined) {
    const word = error.code === "MULTIPLE_DOCS" ? "manyDocuments" : "yaml";
    return { graph: null, fault: { line: lines.linePos(error.pos[0]).line, word, said: sentenceOf(error.message) } };
  }
  const faultAt = (node: unknown, word: Fault["word"]): Read => {
    const start = (node as Node | null)?.range?.[0] ?? 0;
    return { graph: null, fault: { line: lines.linePos(start).line, word, said: "" } };
  };
  if (!isMap(document.contents)) return faultAt(document.contents, "notWorkflow");
  const list = document.get("tasks");
  if (list !== undefined && list !== null && !isSeq(list)) return faultAt(list, "tasksNotList");
  const items = isSeq(list) ? list.items : [];
  const tasks: Task[] = [];
  for (const item of items) {
    if (!isMap(item)) return faultAt(item, "taskNotMap");
    tasks.push(taskOf(item, document, lines));
  }
  return { graph: graphOf(document, tasks), fault: null };
}

function graphOf(document: Document, tasks: Task[]): Graph {
  const whole = asObject(document.toJS({ maxAliasCount: 1_000 }));
  const { tasks: _tasks, schedules: _schedules, layout, ...fields } = whole;
  const { tasks: places, notes } = asObject(layout);
  return {
    name: textOf(whole.name),
    project: textOf(whole.project) || "default",
    tasks,
    edges: edgesOf(tasks),
    notes: (Array.isArray(notes) ? notes : []).map(noteOf),
    places: Object.fromEntries(
      Object.entries(asObject(places)).map(([name, at]) => [
        name,
        { x: numberOf(asObject(at).x), y: numberOf(asObject(at).y) },
      ]),
    ),
    fields,
  };
}

function taskOf(item: YAMLMap, document: Document, lines: LineCounter): Task {
  const fields = asObject(item.toJS(document));
  const [start, end] = item.range ?? [0, 0];
  return {
    name: textOf(fields.name),
    type: textOf(fields.type),
    after: textsOf(fields.after),
    params: asObject(fields.params),
    fields,
    group: textOf(fields.group),
    isOff: fields.flag === "NO" || fields.flag === false,
    line: lines.linePos(start).line,
    lastLine: lines.linePos(Math.max(start, end - 1)).line,
  };
}

/** The arrows between tasks that exist. */
function edgesOf(tasks: Task[]): Edge[] {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  return tasks.flatMap((task) =>
    [...new Set(task.after)]
      .filter((name) => byName.has(name))
      .map((from) => {
        const branch = branchOf(byName.get(from), task.name);
        return { from, to: task.name, ...(branch !== undefined && { branch }) };
      }),
  );
}

/** Under which choice of a SWITCH or CONDITIONS task another one comes next. */
function branchOf(chooser: Task | undefined, next: string): Branch | undefined {
  if (chooser?.type === "SWITCH") {
    const found = casesOf(chooser).find((each) => each.next.includes(next));
    if (found !== undefined) return { when: found.when };
    return textsOf(chooser.params.default).includes(next) ? { word: "default" } : undefined;
  }
  if (chooser?.type === "CONDITIONS") {
    if (textsOf(chooser.params.on_success).includes(next)) return { word: "success" };
    return textsOf(chooser.params.on_failure).includes(next) ? { word: "failure" } : undefined;
  }
  return undefined;
}

/** The cases of a SWITCH task: each a condition and the tasks that come next if it is true. */
export function casesOf({ params }: Task): { when: string; next: string[] }[] {
  const cases = Array.isArray(params.cases) ? params.cases.map(asObject) : [];
  return cases.map(({ when, then }) => ({ when: textOf(when), next: textsOf(then) }));
}

function noteOf(given: unknown): Note {
  const { text, x, y, w, h } = asObject(given);
  return { text: textOf(text), x: numberOf(x), y: numberOf(y), w: numberOf(w) || 160, h: numberOf(h) || 60 };
}

/** A value as an object; something else has no fields. */
export function asObject(given: unknown): Record<string, unknown> {
  return isObject(given) ? given : {};
}

export function isObject(given: unknown): given is Record<string, unknown> {
  return given !== null && typeof given === "object" && !Array.isArray(given);
}

/** One text, or a list of them. */
export function textsOf(given: unknown): string[] {
  if (typeof given === "string") return [given];
  return Array.isArray(given) ? given.map(textOf).filter((each) => each !== "") : [];
}

function textOf(given: unknown): string {
  return typeof given === "string" ? given : typeof given === "number" ? String(given) : "";
}

function numberOf(given: unknown): number {
  return typeof given === "number" && Number.isFinite(given) ? given : 0;
}

/** The first line of the YAML reader's message, without its position: the line is shown next to it. */
function sentenceOf(message: string): string {
  return (message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
}

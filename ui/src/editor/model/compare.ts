/** Two graphs compared: which tasks and arrows came, went, or changed. */
import { isMap } from "yaml";
import { open, tasksOf, written } from "./edits";
import { type Edge, type Graph, read, type Task } from "./read";

export type Change = "added" | "removed" | "changed" | "same";

export interface Comparison {
  tasks: Map<string, Change>;
  /** By `from → to`. */
  edges: Map<string, Change>;
  /** Both graphs in one, with what was removed. */
  union: { tasks: Task[]; edges: Edge[] };
}

/** What became of a workflow from one version to another. */
export function compare(older: Graph, newer: Graph): Comparison {
  const before = new Map(older.tasks.map((task) => [task.name, task]));
  const now = new Map(newer.tasks.map((task) => [task.name, task]));
  const tasks = new Map<string, Change>();
  for (const [name, task] of now) {
    const old = before.get(name);
    tasks.set(name, old === undefined ? "added" : meaning(old) === meaning(task) ? "same" : "changed");
  }
  for (const name of before.keys()) if (!now.has(name)) tasks.set(name, "removed");
  const oldEdges = new Map(older.edges.map((edge) => [edgeKey(edge), edge]));
  const newEdges = new Map(newer.edges.map((edge) => [edgeKey(edge), edge]));
  const edges = new Map<string, Change>();
  for (const key of newEdges.keys()) edges.set(key, oldEdges.has(key) ? "same" : "added");
  for (const key of oldEdges.keys()) if (!newEdges.has(key)) edges.set(key, "removed");
  return {
    tasks,
    edges,
    union: {
      tasks: [...newer.tasks, ...older.tasks.filter((task) => !now.has(task.name))],
      edges: [...new Map([...oldEdges, ...newEdges]).values()],
    },
  };
}

/** A text to be compared by eye: without the numbers of its tasks, and where they stand. */
export function comparable(text: string): string {
  if (read(text).graph === null) return text;
  const document = open(text);
  for (const item of tasksOf(document).items) if (isMap(item)) item.delete("code");
  document.delete("layout");
  return written(document);
}

export function edgeKey({ from, to }: Edge): string {
  return `${from} → ${to}`;
}

/** What a task does, without its number and without where it stands: its arrows are compared by themselves. */
function meaning(task: Task): string {
  const { after: _after, code: _code, ...rest } = task.fields;
  return JSON.stringify(sorted(rest));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value as Record<string, unknown>);
  return Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b)).map(([key, each]) => [key, sorted(each)]));
}

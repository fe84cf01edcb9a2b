/** What is drawn of many tasks: folded groups as one, and in large graphs those that come after the same and before the same. */
import { foldedId } from "@/graph/folding";
import type { TaskView } from "../model";

export interface Item {
  /** The name of the task, or of the first of several. */
  id: string;
  names: string[];
  /** Of a folded group. */
  group?: string;
}

/** The size of each. */
export const BOX = { width: 140, height: 50 };

export interface Drawing {
  items: Item[];
  edges: [string, string][];
}

/** So many tasks are drawn one by one. */
export const DRAWN_MAX = 300;
const ALIKE_MIN = 6;
const NONE: ReadonlyMap<string, string> = new Map();

/** What is drawn of the tasks of a run; `folded` are groups by the names of their tasks. */
export function drawingOf(
  tasks: Pick<TaskView, "name" | "after">[],
  folded: ReadonlyMap<string, string> = NONE,
): Drawing {
  const known = new Set(tasks.map((task) => task.name));
  const single = tasks.filter((task) => !folded.has(task.name));
  const isLarge = single.length > DRAWN_MAX;
  const next = new Map<string, string[]>();
  for (const task of tasks) for (const name of task.after) push(next, name, task.name);
  const alike = isLarge
    ? [...Map.groupBy(single, (task) => JSON.stringify([task.after, next.get(task.name) ?? []])).values()]
    : [];
  const itemOf = new Map<string, string>();
  const items: Item[] = [];
  for (const group of alike.filter((each) => each.length >= ALIKE_MIN)) {
    const names = group.map((task) => task.name);
    const id = names[0] ?? "";
    for (const name of names) itemOf.set(name, id);
    items.push({ id, names });
  }
  for (const task of tasks) {
    if (itemOf.has(task.name)) continue;
    const group = folded.get(task.name);
    if (group !== undefined) {
      const names = tasks.flatMap(({ name }) => (folded.get(name) === group ? name : []));
      for (const name of names) itemOf.set(name, foldedId(group));
      items.push({ id: foldedId(group), names, group });
      continue;
    }
    itemOf.set(task.name, task.name);
    items.push({ id: task.name, names: [task.name] });
  }
  const edges = new Map<string, [string, string]>();
  for (const task of tasks)
    for (const name of task.after) {
      const from = itemOf.get(name);
      const to = itemOf.get(task.name);
      if (known.has(name) && from !== undefined && to !== undefined && from !== to)
        edges.set(`${from}\n${to}`, [from, to]);
    }
  return { items, edges: [...edges.values()] };
}

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

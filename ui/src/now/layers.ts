/** A small graph in columns: each task stands right of all that it comes after. For a handful of tasks. */
import type { Schemas } from "@/api/client";

export interface Placed {
  name: string;
  /** Column from the left, and how far down in it, from 0 to 1. */
  column: number;
  down: number;
}

export interface Layers {
  columns: number;
  rows: number;
  tasks: Placed[];
  arrows: [Placed, Placed][];
}

export function layersOf(graph: Schemas["TaskOrder"][]): Layers {
  const after = new Map(graph.map((task) => [task.name, task.after]));
  const columns = new Map<string, number>();
  const columnOf = (name: string): number => {
    const known = columns.get(name);
    if (known !== undefined) return known;
    columns.set(name, 0);
    const column = Math.max(0, ...(after.get(name) ?? []).map((before) => columnOf(before) + 1));
    columns.set(name, column);
    return column;
  };
  const byColumn = new Map<number, string[]>();
  for (const { name } of graph) byColumn.set(columnOf(name), [...(byColumn.get(columnOf(name)) ?? []), name]);
  const tasks = [...byColumn].flatMap(([column, names]) =>
    names.map((name, row) => ({ name, column, down: (row + 0.5) / names.length })),
  );
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const arrows = graph.flatMap(({ name, after }) =>
    after.flatMap((before): [Placed, Placed][] => {
      const from = byName.get(before);
      const to = byName.get(name);
      return from !== undefined && to !== undefined ? [[from, to]] : [];
    }),
  );
  const rows = Math.max(1, ...[...byColumn.values()].map((names) => names.length));
  return { columns: Math.max(1, byColumn.size), rows, tasks, arrows };
}

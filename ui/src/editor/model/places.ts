/** Where tasks are placed: where the text says, else where there is room next to their predecessors. */
import type { Graph, Place } from "./read";

export const NODE = { w: 176, h: 48 };
const GAP = { x: 32, y: 44 };

/** Places of all tasks, where some have one already: a new one goes below what it comes after. */
export function placed(graph: Graph, arranged: Record<string, Place> | null): Record<string, Place> {
  const given = Object.keys(graph.places).filter((name) => graph.tasks.some((task) => task.name === name));
  if (given.length === 0) return arranged ?? {};
  const all: Record<string, Place> = {};
  for (const name of given) all[name] = graph.places[name] ?? { x: 0, y: 0 };
  for (const task of graph.tasks) {
    if (all[task.name] !== undefined) continue;
    const above = task.after.flatMap((name) => all[name] ?? []);
    const wanted =
      above.length > 0
        ? { x: mean(above.map((at) => at.x)), y: Math.max(...above.map((at) => at.y)) + NODE.h + GAP.y }
        : { x: Math.max(...Object.values(all).map((at) => at.x)) + NODE.w + GAP.x, y: topOf(all) };
    all[task.name] = free(wanted, Object.values(all));
  }
  return all;
}

/** The nearest place to the right at which nothing stands. */
export function free(wanted: Place, taken: Place[]): Place {
  let at = { ...wanted };
  while (taken.some((each) => Math.abs(each.x - at.x) < NODE.w && Math.abs(each.y - at.y) < NODE.h))
    at = { x: at.x + NODE.w + GAP.x, y: at.y };
  return at;
}

function mean(numbers: number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
}

function topOf(all: Record<string, Place>): number {
  return Math.min(...Object.values(all).map((at) => at.y));
}

/** Where nodes of one size stand, for graphs too large for dagre: in columns by what they come after. */
import type { Places, Shape } from "./arrange";

const PASSES = 4;

/** The places of these boxes; in a column they stand near what they come after and before. */
export function layered({ nodes, edges, gap }: Shape): Places {
  const ids = nodes.map(({ id }) => id);
  const { w = 0, h = 0 } = nodes[0] ?? {};
  const before = new Map<string, string[]>(ids.map((id) => [id, []]));
  const after = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const { from, to } of edges) {
    before.get(to)?.push(from);
    after.get(from)?.push(to);
  }
  const columns = columnsOf(ids, before, after);
  const row = new Map<string, number>();
  const number = (column: string[]) => {
    for (const [place, id] of column.entries()) row.set(id, place - column.length / 2);
  };
  for (const column of columns) number(column);
  for (let pass = 0; pass < PASSES; pass++) {
    const isForth = pass % 2 === 0;
    for (const column of isForth ? columns : columns.toReversed()) {
      const middle = new Map(
        column.map((id) => [id, mean((isForth ? before : after).get(id) ?? [], row, row.get(id) ?? 0)]),
      );
      column.sort((one, other) => (middle.get(one) ?? 0) - (middle.get(other) ?? 0));
      number(column);
    }
  }
  return Object.fromEntries(
    columns.flatMap((column, x) =>
      column.map((id) => [id, { x: x * (w + gap.between), y: (row.get(id) ?? 0) * (h + gap.beside) }]),
    ),
  );
}

/** Those that come after the same ones, in the order in which they are given. */
export function siblingsOf(nodes: Shape["nodes"], edges: Shape["edges"]): string[][] {
  const before = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of edges) before.get(to)?.push(from);
  const groups = Map.groupBy(before.keys(), (id) => JSON.stringify(before.get(id)?.sort()));
  return [...groups.values()].filter((group) => group.length > 1);
}

/** Each in the first column in which all that it comes after stand before it. */
function columnsOf(ids: string[], before: Map<string, string[]>, after: Map<string, string[]>): string[][] {
  const left = new Map(ids.map((id) => [id, before.get(id)?.length ?? 0]));
  const columns: string[][] = [];
  let column = ids.filter((id) => left.get(id) === 0);
  while (column.length > 0) {
    columns.push(column);
    const next: string[] = [];
    for (const id of column)
      for (const to of after.get(id) ?? []) {
        const open = (left.get(to) ?? 1) - 1;
        left.set(to, open);
        if (open === 0) next.push(to);
      }
    column = next;
  }
  return columns;
}

function mean(names: string[], row: Map<string, number>, none: number): number {
  if (names.length === 0) return none;
  return names.reduce((sum, name) => sum + (row.get(name) ?? 0), 0) / names.length;
}

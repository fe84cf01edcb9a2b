/** Where nodes of one size stand, for graphs too large for dagre: in layers by what they come after. */
import type { Places, Shape } from "./arrange";

const PASSES = 4;
/** How wide a graph is to its height, as windows are. A layer that is longer than the graph should be has several lines. */
const WIDE = 1.5;

/** The places of these boxes; in a layer they stand near what they come after and before. */
export function layered({ nodes, edges, direction, gap }: Shape): Places {
  const ids = nodes.map(({ id }) => id);
  const { w = 0, h = 0 } = nodes[0] ?? {};
  const before = new Map<string, string[]>(ids.map((id) => [id, []]));
  const after = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const { from, to } of edges) {
    before.get(to)?.push(from);
    after.get(from)?.push(to);
  }
  const layers = layersOf(ids, before, after);
  const at = new Map<string, number>();
  const number = (layer: string[]) => {
    for (const [place, id] of layer.entries()) at.set(id, place - layer.length / 2);
  };
  for (const layer of layers) number(layer);
  for (let pass = 0; pass < PASSES; pass++) {
    const isForth = pass % 2 === 0;
    for (const layer of isForth ? layers : layers.toReversed()) {
      const middle = new Map(
        layer.map((id) => [id, mean((isForth ? before : after).get(id) ?? [], at, at.get(id) ?? 0)]),
      );
      layer.sort((one, other) => (middle.get(one) ?? 0) - (middle.get(other) ?? 0));
      number(layer);
    }
  }
  const isDown = direction === "TB";
  const [beside, between] = isDown ? [w + gap.beside, h + gap.between] : [h + gap.beside, w + gap.between];
  const most = Math.ceil(Math.sqrt((ids.length * (isDown ? WIDE : 1 / WIDE) * between) / beside));
  return Object.fromEntries(
    layers
      .flatMap((layer) => linesOf(layer, most))
      .flatMap((line, number) =>
        line.map((id, place) => {
          const [along, across] = [number * between, (place - line.length / 2) * beside];
          return [id, isDown ? { x: across, y: along } : { x: along, y: across }];
        }),
      ),
  );
}

/** A layer as lines of about the same length, at most `most`. */
function linesOf(layer: string[], most: number): string[][] {
  const count = Math.ceil(layer.length / most);
  const lines = Array.from({ length: count }, (): string[] => []);
  for (const [place, id] of layer.entries()) lines[Math.floor((place * count) / layer.length)]?.push(id);
  return lines;
}

/** Those that come after the same ones, in the order in which they are given. */
export function siblingsOf(nodes: Shape["nodes"], edges: Shape["edges"]): string[][] {
  const before = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of edges) before.get(to)?.push(from);
  const groups = Map.groupBy(before.keys(), (id) => JSON.stringify(before.get(id)?.sort()));
  return [...groups.values()].filter((group) => group.length > 1);
}

/** Each in the first layer in which all that it comes after stand before it. */
function layersOf(ids: string[], before: Map<string, string[]>, after: Map<string, string[]>): string[][] {
  const left = new Map(ids.map((id) => [id, before.get(id)?.length ?? 0]));
  const layers: string[][] = [];
  let layer = ids.filter((id) => left.get(id) === 0);
  while (layer.length > 0) {
    layers.push(layer);
    const next: string[] = [];
    for (const id of layer)
      for (const to of after.get(id) ?? []) {
        const open = (left.get(to) ?? 1) - 1;
        left.set(to, open);
        if (open === 0) next.push(to);
      }
    layer = next;
  }
  return layers;
}

function mean(names: string[], at: Map<string, number>, none: number): number {
  if (names.length === 0) return none;
  return names.reduce((sum, name) => sum + (at.get(name) ?? 0), 0) / names.length;
}

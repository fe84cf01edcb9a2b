/** Places of nodes, such that arrows point down or to the right: a pure function, run in a worker by `arranged`. */
import { Graph, layout } from "@dagrejs/dagre";
import { layered, siblingsOf } from "./layered";

export interface Shape {
  /** In the order that siblings keep: from left to right, or from top to bottom. */
  nodes: { id: string; w: number; h: number }[];
  edges: { from: string; to: string }[];
  /** Down (TB) or to the right (LR). */
  direction: "TB" | "LR";
  /** The room between nodes: of one layer, and of one layer and the next. */
  gap: { beside: number; between: number };
}

export interface Place {
  x: number;
  y: number;
}

export type Places = Record<string, Place>;

/** dagre is nicer, and needs seconds for more than this; for a thousand its calls are too deep for the browser. */
const DAGRE_MAX = 150;

/** The upper left corner of each node. */
export function arrange(shape: Shape): Places {
  return shape.nodes.length > DAGRE_MAX ? layered(shape) : byDagre(shape);
}

function byDagre({ nodes, edges, direction, gap }: Shape): Places {
  const graph = new Graph();
  graph.setGraph({ rankdir: direction, nodesep: gap.beside, ranksep: gap.between, marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, w, h } of nodes) graph.setNode(id, { width: w, height: h });
  for (const { from, to } of edges) graph.setEdge(from, to);
  const constraints = siblingsOf(nodes, edges).flatMap((group) =>
    group.slice(1).map((right, place) => ({ left: group[place] ?? right, right })),
  );
  layout(graph, { constraints });
  return Object.fromEntries(
    nodes.map(({ id, w, h }) => {
      const { x = 0, y = 0 } = graph.node(id) as { x?: number; y?: number };
      return [id, { x: Math.round(x - w / 2), y: Math.round(y - h / 2) }];
    }),
  );
}

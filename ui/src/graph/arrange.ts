/** Places of nodes, such that arrows point down: a pure function, run in a worker by `arranged`. */
import { Graph, layout } from "@dagrejs/dagre";

export interface Shape {
  nodes: { id: string; w: number; h: number }[];
  edges: { from: string; to: string }[];
  /** Down (TB) or to the right (LR). */
  direction: "TB" | "LR";
}

export type Places = Record<string, { x: number; y: number }>;

/** The upper left corner of each node. */
export function arrange({ nodes, edges, direction }: Shape): Places {
  const graph = new Graph();
  graph.setGraph({ rankdir: direction, nodesep: 28, ranksep: direction === "TB" ? 44 : 150, marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, w, h } of nodes) graph.setNode(id, { width: w, height: h });
  for (const { from, to } of edges) graph.setEdge(from, to);
  layout(graph);
  return Object.fromEntries(
    nodes.map(({ id, w, h }) => {
      const { x = 0, y = 0 } = graph.node(id) as { x?: number; y?: number };
      return [id, { x: Math.round(x - w / 2), y: Math.round(y - h / 2) }];
    }),
  );
}

/** Lays out a graph in a worker, so that the page stays responsive. */
import { Graph, layout } from "@dagrejs/dagre";
import { BOX, GAP, layered, type Place } from "./layered";

export interface Asked {
  ids: string[];
  edges: [string, string][];
}

/** dagre is nicer, and needs seconds for more than this. */
const DAGRE_MAX = 150;

self.addEventListener("message", ({ data: { ids, edges } }: MessageEvent<Asked>) => {
  postMessage(ids.length > DAGRE_MAX ? layered(ids, edges) : byDagre(ids, edges));
});

function byDagre(ids: string[], edges: [string, string][]): Record<string, Place> {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: GAP.y, ranksep: GAP.x });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, { ...BOX });
  for (const [from, to] of edges) graph.setEdge(from, to);
  layout(graph);
  return Object.fromEntries(
    ids.map((id) => {
      const { x, y } = graph.node(id) as Place;
      return [id, { x: x - BOX.width / 2, y: y - BOX.height / 2 }];
    }),
  );
}

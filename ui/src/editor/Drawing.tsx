import { useMemo } from "react";
import { useArranged } from "@/graph/arranged";
import { Skeleton } from "@/parts/Answer";
import { Canvas } from "./Canvas";
import { useNodeWords } from "./CanvasSection";
import { CanvasTools } from "./CanvasTools";
import { arrowsOf, nodesOf, shapeOf } from "./flow";
import { placed } from "./model/places";
import { read } from "./model/read";
import "./editor.css";

const NOTHING = () => undefined;

/** The graph of a workflow's text, which nobody changes here. */
export function Drawing({ text }: { text: string }) {
  const words = useNodeWords();
  const graph = useMemo(() => read(text).graph, [text]);
  const arranged = useArranged(graph && shapeOf(graph));
  const nodes = useMemo(
    () =>
      graph &&
      arranged &&
      nodesOf({
        graph,
        places: placed(graph, arranged),
        problems: [],
        inMaster: new Set(),
        isFixed: true,
        words,
        onText: NOTHING,
        onSize: NOTHING,
      }),
    [graph, arranged, words],
  );
  if (!graph || !nodes) return <Skeleton lines={6} />;
  return (
    <Canvas nodes={nodes} arrows={arrowsOf(graph.edges, words, true)} edges={graph.edges} isFixed>
      <CanvasTools />
    </Canvas>
  );
}

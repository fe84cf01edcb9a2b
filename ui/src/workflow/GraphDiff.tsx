import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Canvas } from "@/editor/Canvas";
import { CanvasTools } from "@/editor/CanvasTools";
import { arrowsOf, arrowWords, nodesOf, shapeOf } from "@/editor/flow";
import { compare } from "@/editor/model/compare";
import { read } from "@/editor/model/read";
import { useArranged } from "@/graph/arranged";
import { Skeleton } from "@/parts/Answer";
import "@/editor/editor.css";

const NOTHING = () => undefined;

/** Two versions in one picture: what was added, removed and changed, by colour and by word. */
export function GraphDiff({ older, newer }: { older: string; newer: string }) {
  const { t } = useTranslation(["workflow", "editor"]);
  const both = useMemo(() => {
    const [before, after] = [read(older).graph, read(newer).graph];
    return before === null || after === null ? null : { after, found: compare(before, after) };
  }, [older, newer]);
  const places = useArranged(both === null ? null : shapeOf(both.found.union));
  const shown = useMemo(() => {
    if (both === null || places === null) return null;
    const words = {
      task: (task: { name: string }) => `${task.name}: ${t(`change.${both.found.tasks.get(task.name) ?? "same"}`)}`,
      note: (text: string) => text,
      ...arrowWords(t),
    };
    const graph = { ...both.after, ...both.found.union, notes: [], edges: both.found.union.edges };
    const nodes = nodesOf({
      graph,
      places,
      problems: [],
      inMaster: new Set(),
      isFixed: true,
      words,
      changes: both.found.tasks,
      onText: NOTHING,
      onSize: NOTHING,
    });
    return { nodes, arrows: arrowsOf(graph.edges, words, true, both.found.edges), edges: graph.edges };
  }, [both, places, t]);
  if (both === null) return <p className="pad mute">{t("unreadableVersion")}</p>;
  if (shown === null) return <Skeleton lines={8} />;
  const counts = (["added", "removed", "changed"] as const).map((change) => ({
    change,
    tasks: [...both.found.tasks.values()].filter((each) => each === change).length,
  }));
  return (
    <>
      <p className="pad line">
        {counts.map(({ change, tasks }) => (
          <span key={change} className="tag" data-change={change}>
            {t(`count.${change}`, { count: tasks })}
          </span>
        ))}
      </p>
      <div className="graph-diff">
        <Canvas nodes={shown.nodes} arrows={shown.arrows} edges={shown.edges} isFixed>
          <CanvasTools />
        </Canvas>
      </div>
    </>
  );
}

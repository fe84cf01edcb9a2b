import { useQuery } from "@tanstack/react-query";
import { type CSSProperties, lazy, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Place } from "@/graph/arrange";
import { useArranged } from "@/graph/arranged";
import { useFolding } from "@/graph/folding";
import { Empty, Skeleton } from "@/parts/Answer";
import { useRun } from "../context";
import { specOf } from "../queries";
import { CanvasGraph } from "./CanvasGraph";
import { BOX, DRAWN_MAX, type Drawing, drawingOf } from "./collapse";
import "./graph.css";

const FlowGraph = lazy(async () => ({ default: (await import("./FlowGraph")).FlowGraph }));

/** The tasks of the run as a graph: boxes while they are few enough to be drawn so, else a picture of them. */
export function GraphTab() {
  const { t } = useTranslation("run");
  const { run, tasks } = useRun();
  const groups = useGroups();
  const folding = useFolding(`runs of ${run.workflow_code}`);
  const drawing = useDrawing(groups, folding.folded);
  const places = useArranged({
    nodes: drawing.items.map(({ id }) => ({ id, w: BOX.width, h: BOX.height })),
    edges: drawing.edges.map(([from, to]) => ({ from, to })),
    direction: "LR",
    // Between boxes is room for the name of a frame.
    gap: { beside: groups.size > 0 ? 34 : 14, between: 28 },
  });
  if (run.graph == null) return <Empty title={t("noGraph")}>{t("noGraphSays")}</Empty>;
  if (places === null)
    return (
      <div className="run-graph">
        <Skeleton lines={5} />
      </div>
    );
  const Graph = drawing.items.length > DRAWN_MAX ? CanvasGraph : FlowGraph;
  return (
    <section
      className="panel run-graph"
      aria-label={t("graphOf", { count: tasks.length })}
      style={{ "--graph-h": `${heightOf(places)}px` } as CSSProperties}
    >
      <Graph drawing={drawing} places={places} groups={groups} folding={folding} />
    </section>
  );
}

const HEIGHT = { min: 190, max: 380, margin: 48 };

/** As high as the boxes need, within what leaves room for the table. */
function heightOf(places: Record<string, Place>): number {
  const rows = Object.values(places).map((place) => place.y);
  const needed = Math.max(...rows) - Math.min(...rows) + BOX.height + HEIGHT.margin;
  return Math.min(HEIGHT.max, Math.max(HEIGHT.min, needed));
}

/** The drawing of the graph: the same one while only states change. */
function useDrawing(groups: ReadonlyMap<string, string>, folded: ReadonlySet<string>): Drawing {
  const { tasks } = useRun();
  const shape = JSON.stringify(tasks.map((task) => [task.name, task.after]));
  const kept = useRef(tasks);
  kept.current = tasks;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape says all that the drawing depends on
  return useMemo(
    () => drawingOf(kept.current, new Map([...groups].filter(([, group]) => folded.has(group)))),
    [shape, groups, folded],
  );
}

/** The groups in which the definition shows tasks, by the tasks' names. */
function useGroups(): Map<string, string> {
  const { run } = useRun();
  const { data } = useQuery({ ...specOf(run.workflow_code, run.version), enabled: run.workflow != null });
  return useMemo(
    () => new Map(data?.spec.tasks?.flatMap(({ name, group }) => (group ? [[name, group] as const] : []))),
    [data],
  );
}

import { type CSSProperties, lazy, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Empty, Skeleton } from "@/parts/Answer";
import { useRun } from "../context";
import { CanvasGraph } from "./CanvasGraph";
import { DRAWN_MAX, type Drawing, drawingOf } from "./collapse";
import { BOX, type Place } from "./layered";
import { useLayout } from "./useLayout";
import "./graph.css";

const FlowGraph = lazy(async () => ({ default: (await import("./FlowGraph")).FlowGraph }));

/** The tasks of the run as a graph: boxes while they are few enough to be drawn so, else a picture of them. */
export function GraphTab() {
  const { t } = useTranslation("run");
  const { run, tasks } = useRun();
  const drawing = useDrawing();
  const places = useLayout(drawing);
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
      <Graph drawing={drawing} places={places} />
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
function useDrawing(): Drawing {
  const { tasks } = useRun();
  const shape = JSON.stringify(tasks.map((task) => [task.name, task.after]));
  const kept = useRef(tasks);
  kept.current = tasks;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape says all that the drawing depends on
  return useMemo(() => drawingOf(kept.current), [shape]);
}

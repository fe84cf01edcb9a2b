import { Background, Controls, type Edge, type Node, ReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Place } from "@/graph/arrange";
import { type Folding, foldedId } from "@/graph/folding";
import { GroupFrames } from "@/graph/GroupFrames";
import { useRun } from "../context";
import { isPassed, type TaskView } from "../model";
import { BOX, DRAWN_MAX, type Drawing } from "./collapse";
import { type TaskData, TaskNode } from "./TaskNode";

const NODES = { task: TaskNode };

interface Props {
  drawing: Drawing;
  places: Record<string, Place>;
  /** The groups of tasks, by their names. */
  groups: ReadonlyMap<string, string>;
  folding: Folding;
}

const ORIGIN = { x: 0, y: 0 };

/** The graph as boxes that can be reached by the keyboard. */
export function FlowGraph({ drawing, places, groups, folding }: Props) {
  const { t } = useTranslation("run");
  const { tasks, search, go } = useRun();
  const byName = useMemo(() => new Map(tasks.map((task) => [task.name, task])), [tasks]);
  const nodes = useMemo(
    () =>
      drawing.items.map(
        ({ id, names, group }): Node<TaskData> => ({
          id,
          type: "task",
          // Until they are arranged again a group stands where its first task stood, and its tasks where it stood.
          position: places[id] ?? places[names[0] ?? ""] ?? places[foldedId(groups.get(id) ?? "")] ?? ORIGIN,
          ...BOX,
          measured: BOX,
          data: {
            tasks: names.map((name) => byName.get(name)).filter((task) => task !== undefined),
            ...(group !== undefined && { group, folding }),
          },
        }),
      ),
    [drawing, places, groups, folding, byName],
  );
  const edges = useMemo(
    () =>
      drawing.edges.map(
        ([from, to]): Edge => ({
          id: `${from}→${to}`,
          source: from,
          target: to,
          className: edgeLook(byName.get(from), byName.get(to)),
          focusable: false,
        }),
      ),
    [drawing, byName],
  );
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={NODES}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      elementsSelectable={false}
      onlyRenderVisibleElements={drawing.items.length > DRAWN_MAX / 3}
      fitView
      fitViewOptions={{ padding: 0.05, maxZoom: 1, minZoom: 0.35, ...near(search.task, drawing) }}
      minZoom={0.15}
      maxZoom={1.6}
      zoomOnScroll={false}
      panOnScroll={false}
      preventScrolling={false}
      proOptions={{ hideAttribution: true }}
      onPaneClick={() => search.task !== undefined && go({ task: undefined })}
    >
      <Background gap={18} size={1} />
      <GroupFrames
        of={nodes.map(({ id, position }) => ({ group: groups.get(id), ...position, w: BOX.width, h: BOX.height }))}
        folding={folding}
      />
      <Controls showInteractive={false} position="top-right" aria-label={t("zoom")} />
    </ReactFlow>
  );
}

/** Where the view begins in a graph that does not fit: at the chosen task. */
function near(task: string | undefined, drawing: Drawing) {
  const item = drawing.items.find((each) => task !== undefined && each.names.includes(task));
  return item !== undefined && drawing.items.length > 40 ? { nodes: [{ id: item.id }] } : {};
}

function edgeLook(from: TaskView | undefined, to: TaskView | undefined): string {
  if (to?.state === "SKIPPED" || from?.state === "SKIPPED") return "skipped";
  if (to?.state === "RUNNING_EXECUTION" || to?.state === "DISPATCH") return "live";
  return from !== undefined && isPassed(from.state) ? "done" : "";
}

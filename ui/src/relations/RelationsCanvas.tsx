import {
  Background,
  BackgroundVariant,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from "@xyflow/react";
import { WorkflowLink } from "@/parts/Links";
import "@xyflow/react/dist/base.css";
import { memo, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { CanvasTools } from "@/editor/CanvasTools";
import { useArranged } from "@/graph/arranged";
import { Skeleton } from "@/parts/Answer";
import type { RelationGraph, Workflow } from "./model";
import "@/editor/editor.css";

const SIZE = { w: 190, h: 46 };

type WorkflowNodeType = Node<{ workflow: Workflow }, "workflow">;
const nodeTypes = { workflow: memo(WorkflowNode) };

interface Props {
  graph: RelationGraph;
  chosen: string | undefined;
  onChoose: (key: string) => void;
}

/** Workflows from left to right, as they start and feed each other. */
export function RelationsCanvas({ graph, chosen, onChoose }: Props) {
  const { t } = useTranslation("relations");
  const places = useArranged({
    nodes: graph.workflows.map(({ key }) => ({ id: key, ...SIZE })),
    edges: graph.arrows.map(({ from, to }) => ({ from, to })),
    direction: "LR",
    gap: { beside: 28, between: 150 },
  });
  const nodes = useMemo(
    () =>
      graph.workflows.flatMap((workflow): WorkflowNodeType[] => {
        const position = places?.[workflow.key];
        return position === undefined
          ? []
          : [
              {
                id: workflow.key,
                type: "workflow",
                position,
                width: SIZE.w,
                height: SIZE.h,
                measured: { width: SIZE.w, height: SIZE.h },
                selected: workflow.key === chosen,
                ariaLabel: t("workflow", { name: workflow.name, project: workflow.project }),
                data: { workflow },
              },
            ];
      }),
    [graph, places, chosen, t],
  );
  const edges = useMemo(
    () =>
      graph.arrows.map(
        ({ key, from, to, type, tasks }): Edge => ({
          id: key,
          source: from,
          target: to,
          className: `relation-${type}`,
          ariaLabel: t(`sentence.${type}`, { from, to, tasks: tasks.join(", ") }),
          label: tasks.length > 1 ? t("tasks", { count: tasks.length }) : tasks[0],
          markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
        }),
      ),
    [graph, t],
  );
  if (nodes.length < graph.workflows.length) return <Skeleton lines={8} />;
  return (
    <div className="relations-canvas">
      <ReactFlow
        key={chosen ?? ""}
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.12 }}
        minZoom={0.1}
        onlyRenderVisibleElements={nodes.length > 150}
        proOptions={{ hideAttribution: true }}
        onNodesChange={(changes) => {
          const picked = changes.find((change) => change.type === "select" && change.selected);
          if (picked !== undefined && "id" in picked && picked.id !== chosen) onChoose(picked.id);
        }}
      >
        <Background variant={BackgroundVariant.Dots} gap={20} size={1.5} color="var(--line-strong)" />
        <CanvasTools />
      </ReactFlow>
    </div>
  );
}

function WorkflowNode({ data: { workflow } }: NodeProps<WorkflowNodeType>) {
  const { t } = useTranslation("relations");
  const { project, name, isThere } = workflow;
  return (
    <div className="relation-node" data-missing={!isThere}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      {isThere ? <WorkflowLink className="cut nodrag" project={project} name={name} /> : <b className="cut">{name}</b>}
      <small className="cut">{isThere ? project : t("missing")}</small>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

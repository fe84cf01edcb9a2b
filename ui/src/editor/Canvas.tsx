import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  type Connection,
  type EdgeChange,
  type Edge as FlowEdge,
  type NodeChange,
  ReactFlow,
  type ReactFlowInstance,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { type DragEvent, type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Folding } from "@/graph/folding";
import { GroupFrames } from "@/graph/GroupFrames";
import { FoldedNode } from "./FoldedNode";
import { type CanvasNode, taskOf } from "./flow";
import { NODE } from "./model/places";
import type { Edge, Place } from "./model/read";
import { checkArrow, Refusal } from "./model/rules";
import { NoteNode } from "./NoteNode";
import { DRAGGED } from "./Palette";
import { TaskNode, type TaskNodeType } from "./TaskNode";

const nodeTypes = { task: TaskNode, note: NoteNode, folded: FoldedNode };
const MANY = 150;
const NAMES_ZOOM_MIN = 0.6;
// React Flow subscribes again whenever the list of keys is a new one, and a key pressed in that moment is lost.
const DELETE = ["Delete", "Backspace"];
/** What all graphs on a canvas have in common. */
const ALIKE = {
  nodesFocusable: true,
  multiSelectionKeyCode: ["Shift", "Control", "Meta"],
  selectionKeyCode: "Shift",
  snapToGrid: true,
  snapGrid: [10, 10] as [number, number],
  minZoom: 0.1,
  maxZoom: 2,
  fitView: true,
  proOptions: { hideAttribution: true },
};

/** How a graph of so many nodes is fitted into its place: the names in it can be read. */
export function fitOf(nodes: number) {
  return { maxZoom: 1, padding: 0.12, ...(nodes > MANY && { minZoom: NAMES_ZOOM_MIN }) };
}

interface Props {
  nodes: CanvasNode[];
  arrows: FlowEdge[];
  edges: Edge[];
  isFixed: boolean;
  /** Where groups can be folded. */
  folding?: Folding;
  onReady?: (flow: ReactFlowInstance<CanvasNode, FlowEdge>) => void;
  onSelect?: (ids: string[]) => void;
  onMoved?: (places: Record<string, Place>) => void;
  onConnect?: (from: string, to: string) => void;
  onRefused?: (refusal: Refusal) => void;
  onDelete?: (ids: string[], arrows: FlowEdge[]) => void;
  onDropType?: (type: string, at: Place) => void;
  children?: ReactNode;
}

/** Tasks, notes and arrows: shows what it is given, and reports what the person does. */
export function Canvas(props: Props) {
  const { nodes: given, arrows, edges, isFixed, onMoved, onSelect, onConnect, onRefused, onDelete, onDropType } = props;
  const { t } = useTranslation("editor");
  const { nodes, setNodes, chosen } = useNodes(given);
  const [flow, setFlow] = useState<ReactFlowInstance<CanvasNode, FlowEdge> | null>(null);
  const [chosenArrows, setChosenArrows] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(
    () => arrows.map((arrow) => (chosenArrows.has(arrow.id) ? { ...arrow, selected: true } : arrow)),
    [arrows, chosenArrows],
  );
  const fit = useMemo(() => fitOf(given.length), [given.length]);

  const onNodesChange = useCallback(
    (changes: NodeChange<CanvasNode>[]) => {
      // What is removed is removed from the text, and from here with it; what is selected comes back with the nodes.
      const isTold = ({ type }: NodeChange<CanvasNode>) => type === "remove" || (type === "select" && onSelect);
      const shown = changes.filter((change) => !isTold(change));
      if (shown.length > 0) setNodes((before) => applyNodeChanges(shown, before));
      const places = placesOf(shown);
      if (Object.keys(places).length > 0) onMoved?.(places);
      if (onSelect && changes.some((change) => change.type === "select")) {
        chosen.current = selectedAfter(chosen.current, changes);
        onSelect([...chosen.current]);
      }
    },
    [setNodes, chosen, onMoved, onSelect],
  );
  const connect = ({ source, target }: Connection) => {
    const [from, to] = [taskOf(source), taskOf(target)];
    if (from !== null && to !== null) onConnect?.(from, to);
  };
  const drop = (event: DragEvent) => {
    const type = event.dataTransfer.getData(DRAGGED);
    if (type === "" || flow === null) return;
    event.preventDefault();
    onDropType?.(type, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }));
  };
  const members = useMemo(() => nodes.flatMap((node) => (node.type === "task" ? memberOf(node) : [])), [nodes]);
  return (
    <ReactFlow<CanvasNode, FlowEdge>
      className="canvas"
      nodes={nodes}
      edges={shown}
      nodeTypes={nodeTypes}
      onInit={(made) => {
        setFlow(made);
        props.onReady?.(made);
      }}
      onNodesChange={onNodesChange}
      onEdgesChange={(changes) => setChosenArrows(selectedAfter(chosenArrows, changes))}
      onConnect={connect}
      onConnectEnd={(_, { fromNode, toNode, isValid }) => {
        const [from, to] = [taskOf(fromNode?.id ?? ""), taskOf(toNode?.id ?? "")];
        if (isValid || from === null || to === null) return;
        const refusal = refusalOf(from, to, edges);
        if (refusal !== null) onRefused?.(refusal);
      }}
      isValidConnection={({ source, target }) => refusalOf(taskOf(source) ?? "", taskOf(target) ?? "", edges) === null}
      onDelete={({ nodes: gone, edges: cut }) =>
        onDelete?.(
          gone.map((node) => node.id),
          cut,
        )
      }
      onDragOver={(event) => {
        event.preventDefault();
        event.dataTransfer.dropEffect = "copy";
      }}
      onDrop={drop}
      nodesDraggable={!isFixed}
      nodesConnectable={!isFixed}
      edgesFocusable={!isFixed}
      deleteKeyCode={isFixed ? null : DELETE}
      {...ALIKE}
      fitViewOptions={fit}
      onlyRenderVisibleElements={nodes.length > MANY}
      ariaLabelConfig={{
        "node.a11yDescription.default": t("nodeHelp"),
        "node.a11yDescription.keyboardDisabled": t("nodeHelp"),
        "edge.a11yDescription.default": t("arrowHelp"),
      }}
    >
      <Background variant={BackgroundVariant.Dots} gap={20} size={1.5} color="var(--line-strong)" />
      <GroupFrames of={members} folding={props.folding} />
      {props.children}
    </ReactFlow>
  );
}

/** The nodes as they are shown while hands are at them, and which are selected; those that are `given` anew replace them. */
function useNodes(given: CanvasNode[]) {
  const [{ nodes, of }, setShown] = useState({ nodes: given, of: given });
  const chosen = useRef<ReadonlySet<string>>(new Set());
  const setNodes = useCallback(
    (change: (before: CanvasNode[]) => CanvasNode[]) => setShown(({ nodes, of }) => ({ nodes: change(nodes), of })),
    [],
  );
  if (of !== given) {
    setShown({ nodes: given, of: given });
    chosen.current = new Set(given.flatMap((node) => (node.selected ? node.id : [])));
  }
  return { nodes, setNodes, chosen };
}

function memberOf({ data: { task }, position }: TaskNodeType) {
  return { group: task.group, ...position, ...NODE };
}

/** Where nodes were let go. */
function placesOf(changes: NodeChange<CanvasNode>[]): Record<string, Place> {
  const places: Record<string, Place> = {};
  for (const change of changes)
    if (change.type === "position" && change.dragging === false && change.position !== undefined)
      places[change.id] = change.position;
  return places;
}

function selectedAfter(before: Iterable<string>, changes: (NodeChange<CanvasNode> | EdgeChange)[]): Set<string> {
  const chosen = new Set(before);
  for (const change of changes)
    if (change.type === "select") change.selected ? chosen.add(change.id) : chosen.delete(change.id);
  return chosen;
}

function refusalOf(from: string, to: string, edges: Edge[]): Refusal | null {
  try {
    checkArrow(from, to, edges);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

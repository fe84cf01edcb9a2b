/** The graph of a text as nodes and arrows of the canvas. */
import { type Edge as FlowEdge, MarkerType, Position } from "@xyflow/react";
import type { TFunction } from "i18next";
import type { Shape } from "@/graph/arrange";
import { type Folding, foldedId } from "@/graph/folding";
import type { FoldedNodeType } from "./FoldedNode";
import { type Change, edgeKey } from "./model/compare";
import { NODE } from "./model/places";
import type { Problem } from "./model/problems";
import type { Branch, Edge, Graph, Place, Task } from "./model/read";
import type { NoteNodeType } from "./NoteNode";
import type { TaskNodeType } from "./TaskNode";

export type CanvasNode = TaskNodeType | NoteNodeType | FoldedNodeType;

export interface Words {
  task(task: Task, problems: number): string;
  note(text: string): string;
  arrow(edge: Edge): string;
  branch(branch: Branch): string;
}

const CONDITION_MAX = 28;
const HANDLE = 9;
/** Where arrows end and begin: as in editor.css. */
const HANDLES = [
  { type: "target" as const, position: Position.Top, y: -HANDLE / 2 },
  { type: "source" as const, position: Position.Bottom, y: NODE.h - HANDLE / 2 },
].map((each) => ({ ...each, x: (NODE.w - HANDLE) / 2, width: HANDLE, height: HANDLE }));

/** What arrows are called, and what stands at those of a branch. */
export function arrowWords(t: TFunction): Pick<Words, "arrow" | "branch"> {
  const branch = (of: Branch) => ("when" in of ? of.when : t(`editor:branch.${of.word}`));
  return {
    arrow: ({ from, to, branch: of }) =>
      of === undefined ? t("editor:arrow", { from, to }) : t("editor:arrowIf", { from, to, branch: branch(of) }),
    branch: (of) => {
      const said = branch(of);
      return said.length > CONDITION_MAX ? `${said.slice(0, CONDITION_MAX)}…` : said;
    },
  };
}

/** What the arranger needs of a graph. */
export function shapeOf(graph: { tasks: Task[]; edges: Edge[] }): Shape {
  return {
    nodes: graph.tasks.map(({ name }) => ({ id: name, ...NODE })),
    edges: graph.edges.map(({ from, to }) => ({ from, to })),
    direction: "TB",
    gap: { beside: 28, between: 44 },
  };
}

interface Given {
  graph: Graph;
  places: Record<string, Place>;
  problems: Problem[];
  inMaster: Set<string>;
  isFixed: boolean;
  words: Words;
  changes?: Map<string, Change>;
  folding?: Folding;
  onText: (note: number, text: string) => void;
  onSize: (note: number, w: number, h: number) => void;
}

/**
 * Tasks and notes as nodes; a task is known by `task:` and its name, a note by `note:` and its number.
 *
 * Their size is told as measured: React Flow forgets where the handles of a node are that comes without, and until it has
 * measured them again the node has no arrows, and none can be drawn from it. Their handles are told too: else it draws
 * every node once to measure them, also those that are out of sight.
 */
export function nodesOf(given: Given): CanvasNode[] {
  const { graph, places, problems, isFixed, words, folding } = given;
  const tasks = graph.tasks.flatMap((task): TaskNodeType[] => {
    const position = places[task.name];
    if (position === undefined || folding?.folded.has(task.group)) return [];
    const own = problems.filter((problem) => problem.task === task.name);
    const wrong = own.filter((problem) => !problem.isWarning).length;
    const id = taskId(task.name);
    return [
      {
        id,
        type: "task",
        position,
        width: NODE.w,
        height: NODE.h,
        measured: { width: NODE.w, height: NODE.h },
        handles: HANDLES,
        ariaLabel: words.task(task, wrong),
        draggable: !isFixed,
        deletable: !isFixed,
        data: {
          task,
          problems: wrong,
          warnings: own.length - wrong,
          isInMaster: given.inMaster.has(task.type),
          change: given.changes?.get(task.name),
          isFixed,
        },
      },
    ];
  });
  const notes = graph.notes.map((note, at): NoteNodeType => {
    const id = noteId(at);
    return {
      id,
      type: "note",
      position: { x: note.x, y: note.y },
      width: note.w,
      height: note.h,
      measured: { width: note.w, height: note.h },
      ariaLabel: words.note(note.text),
      draggable: !isFixed,
      deletable: !isFixed,
      zIndex: -1,
      data: {
        text: note.text,
        isFixed,
        onText: (text) => given.onText(at, text),
        onSize: (w, h) => given.onSize(at, w, h),
      },
    };
  });
  return [...tasks, ...notes, ...(folding === undefined ? [] : foldedNodes(given, folding))];
}

/** The same nodes with these selected; those of which that stays the same are the same objects, which are not drawn again. */
export function withSelected(nodes: CanvasNode[], ids: readonly string[]): CanvasNode[] {
  const selected = new Set(ids);
  return selected.size === 0
    ? nodes
    : nodes.map((node) => (selected.has(node.id) ? { ...node, selected: true } : node));
}

/** Each folded group, where its tasks begin. */
function foldedNodes({ graph, places, problems }: Given, folding: Folding): FoldedNodeType[] {
  const groups = Map.groupBy(graph.tasks, (task) => task.group);
  return [...groups].flatMap(([group, tasks]) => {
    if (!folding.folded.has(group)) return [];
    const names = new Set(tasks.map((task) => task.name));
    const at = [...names].flatMap((name) => places[name] ?? []);
    return {
      id: foldedId(group),
      type: "folded",
      position: { x: Math.min(...at.map(({ x }) => x)), y: Math.min(...at.map(({ y }) => y)) },
      width: NODE.w,
      height: NODE.h,
      measured: { width: NODE.w, height: NODE.h },
      handles: HANDLES,
      draggable: false,
      selectable: false,
      focusable: false,
      deletable: false,
      data: {
        group,
        tasks: tasks.length,
        problems: problems.filter(({ task, isWarning }) => task !== null && names.has(task) && !isWarning).length,
        folding,
      },
    };
  });
}

/** The arrows where some groups are folded: those in a group are not seen, and those of its tasks are its own. */
export function foldedArrows(arrows: FlowEdge[], tasks: Task[], folded: ReadonlySet<string>): FlowEdge[] {
  if (folded.size === 0) return arrows;
  const ends = new Map(
    tasks.flatMap(({ name, group }) => (folded.has(group) ? [[taskId(name), foldedId(group)]] : [])),
  );
  const seen = new Set<string>();
  return arrows.flatMap((arrow) => {
    const [source, target] = [ends.get(arrow.source) ?? arrow.source, ends.get(arrow.target) ?? arrow.target];
    if (source === arrow.source && target === arrow.target) return arrow;
    const id = `${source} ${target}`;
    if (source === target || seen.has(id)) return [];
    seen.add(id);
    return { id, source, target, markerEnd: arrow.markerEnd, deletable: false, selectable: false, focusable: false };
  });
}

/** Arrows; those of a branch say which. */
export function arrowsOf(edges: Edge[], words: Words, isFixed: boolean, changes?: Map<string, Change>): FlowEdge[] {
  return edges.map((edge) => ({
    id: edgeKey(edge),
    source: taskId(edge.from),
    target: taskId(edge.to),
    ariaLabel: words.arrow(edge),
    deletable: !isFixed,
    markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
    className: changes === undefined ? undefined : `arrow-${changes.get(edgeKey(edge)) ?? "same"}`,
    ...(edge.branch !== undefined && { label: words.branch(edge.branch) }),
  }));
}

export function taskId(name: string): string {
  return `task:${name}`;
}

export function noteId(at: number): string {
  return `note:${at}`;
}

/** The task of a node; null if it is a note. */
export function taskOf(id: string): string | null {
  return id.startsWith("task:") ? id.slice(5) : null;
}

/** The number of the note of a node; null if it is a task. */
export function noteOf(id: string): number | null {
  return id.startsWith("note:") ? Number(id.slice(5)) : null;
}

import type { ReactFlowInstance } from "@xyflow/react";
import { type RefObject, useRef } from "react";
import { useTranslation } from "react-i18next";
import { arranged } from "@/graph/arranged";
import { fitOf } from "./Canvas";
import { type CanvasNode, noteId, noteOf, shapeOf, taskId, taskOf } from "./flow";
import { cut, draw } from "./model/cases";
import { addTask, moveTasks, removeTasks } from "./model/edits";
import { addNote, changeNote, removeNotes } from "./model/notes";
import { free, NODE } from "./model/places";
import { type Graph, type Place, read } from "./model/read";
import type { Editing } from "./useEditing";

type Places = Record<string, Place>;
type Flow = ReactFlowInstance<CanvasNode>;

interface Given {
  editing: Editing;
  graph: Graph;
  places: Places;
  /** What the canvas is in. */
  root: RefObject<HTMLElement | null>;
  onSelect: (ids: string[]) => void;
}

export type CanvasActs = ReturnType<typeof useCanvasActs>;

/** What hands do on the canvas, as edits of the text. */
export function useCanvasActs({ editing: { edit }, graph, places, root, onSelect }: Given) {
  const { t } = useTranslation("editor");
  const flow = useRef<Flow | null>(null);
  return {
    setFlow: (made: Flow) => {
      flow.current = made;
    },
    /** Add a task after another one: at a place, below that one, or where it is seen. */
    add: (type: string, after: string | null, at?: Place): boolean => {
      const above = after !== null ? places[after] : undefined;
      const below = above && { x: above.x + NODE.w / 2, y: above.y + 2 * NODE.h };
      const { x, y } = at ?? below ?? seenPlace(root.current, flow.current);
      const taken = at === undefined ? Object.values(places) : [];
      const place = free({ x: snapped(x - NODE.w / 2), y: snapped(y) }, taken);
      let made = "";
      const isDone = edit((text) => {
        const found = addTask(moveTasks(text, places), { type, place });
        made = found.name;
        return after === null ? found.text : draw(found.text, after, made);
      });
      if (isDone) onSelect([taskId(made)]);
      return isDone;
    },
    move: (moved: Places) => void edit((text) => movedIn(text, places, moved), "move"),
    remove: (ids: string[], arrows: Cut[] = []) => {
      edit((text) => removedFrom(text, ids, arrows));
      if (ids.length > 0) onSelect([]);
    },
    arrange: async () => {
      const shape = shapeOf(graph);
      // What stands further left stays there.
      shape.nodes.sort((one, other) => (places[one.id]?.x ?? 0) - (places[other.id]?.x ?? 0));
      const next = await arranged(shape);
      edit((text) => moveTasks(text, next));
      requestAnimationFrame(() => void flow.current?.fitView({ ...fitOf(graph.tasks.length), duration: 200 }));
    },
    addNote: () => {
      const low = Math.max(0, ...Object.values(places).map((at) => at.y + NODE.h));
      edit((text) => addNote(text, { text: t("newNote"), x: 0, y: low + 40, w: 180, h: 60 }));
      onSelect([noteId(graph.notes.length)]);
    },
  };
}

/** The middle of what is seen of the canvas, rather high. */
function seenPlace(root: HTMLElement | null, flow: Flow | null): Place {
  const seen = root?.querySelector(".canvas")?.getBoundingClientRect();
  if (seen === undefined || flow === null) return { x: NODE.w / 2, y: 0 };
  return flow.screenToFlowPosition({ x: seen.x + seen.width / 2, y: seen.y + seen.height / 3 });
}

function snapped(number: number): number {
  return Math.round(number / 10) * 10;
}

/** The text with nodes at other places; all tasks have one then. */
function movedIn(text: string, places: Places, moved: Places): string {
  const tasks = Object.entries(moved).flatMap(([id, at]) => {
    const found = taskOf(id);
    return found === null ? [] : [[found, at] as const];
  });
  let next = tasks.length > 0 ? moveTasks(text, { ...places, ...Object.fromEntries(tasks) }) : text;
  for (const [id, at] of Object.entries(moved)) {
    const note = noteOf(id);
    if (note !== null) next = changeNote(next, note, at);
  }
  return next;
}

/** An arrow, by the nodes at its ends. */
interface Cut {
  source: string;
  target: string;
}

/** The text without nodes and arrows. */
function removedFrom(text: string, ids: string[], arrows: Cut[]): string {
  const names = ids.flatMap((id) => taskOf(id) ?? []);
  const notes = ids.flatMap((id) => noteOf(id) ?? []);
  let next = text;
  for (const { source, target } of arrows) {
    const [from, to] = [taskOf(source), taskOf(target)];
    if (from !== null && to !== null && !names.includes(to)) next = cut(next, from, to);
  }
  const edges = names.length > 0 ? (read(text).graph?.edges ?? []) : [];
  for (const { from, to, branch } of edges)
    if (branch !== undefined && names.includes(to) && !names.includes(from)) next = cut(next, from, to);
  if (names.length > 0) next = removeTasks(next, names);
  return notes.length > 0 ? removeNotes(next, notes) : next;
}

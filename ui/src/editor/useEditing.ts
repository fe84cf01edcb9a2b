import { useCallback, useMemo, useReducer, useRef } from "react";
import { useTranslation } from "react-i18next";
import { sayFailure } from "@/parts/notices";
import { begin, edited, type History, redone, undone } from "./model/history";
import type { Problem } from "./model/problems";
import { type Fault, type Graph, read } from "./model/read";
import { Refusal } from "./model/rules";

type Step =
  | { do: "edit"; text: string; kind: string; at: number }
  | { do: "undo" }
  | { do: "redo" }
  | { do: "begin"; text: string };

function step(history: History, { do: what, ...given }: Step): History {
  if (what === "undo") return undone(history);
  if (what === "redo") return redone(history);
  const { text, kind, at } = given as { text: string; kind: string; at: number };
  return what === "begin" ? begin(text) : edited(history, text, kind, at);
}

export interface Editing {
  text: string;
  /** The graph of the text, or of the last text that could be read. */
  graph: Graph | null;
  fault: Fault | null;
  canUndo: boolean;
  canRedo: boolean;
  /** Change the text; edits of one kind that follow each other are undone together. Says why if it is refused. */
  edit(change: (text: string) => string, kind?: string): boolean;
  undo(): void;
  redo(): void;
  /** Start from this text, without a past. */
  restart(text: string): void;
}

/** What each part of the editor is given. */
export interface EditorPart {
  editing: Editing;
  graph: Graph;
  problems: Problem[];
  isFixed: boolean;
}

/** The text that is edited, with its past, and the graph that it describes. */
export function useEditing(): Editing {
  const { t } = useTranslation("editor");
  const [history, dispatch] = useReducer(step, "", begin);
  const current = useRef(history.text);
  current.current = history.text;
  const lastGood = useRef<Graph | null>(null);
  const found = useMemo(() => read(history.text), [history.text]);
  if (found.graph !== null) lastGood.current = found.graph;

  const edit = useCallback(
    (change: (text: string) => string, kind = "") => {
      try {
        const text = change(current.current);
        current.current = text;
        dispatch({ do: "edit", text, kind, at: Date.now() });
        return true;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        sayFailure(new Error(t(error.word, error.values)));
        return false;
      }
    },
    [t],
  );
  const undo = useCallback(() => dispatch({ do: "undo" }), []);
  const redo = useCallback(() => dispatch({ do: "redo" }), []);
  const restart = useCallback((text: string) => {
    lastGood.current = null;
    dispatch({ do: "begin", text });
  }, []);
  return {
    text: history.text,
    graph: found.graph ?? lastGood.current,
    fault: found.fault,
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    edit,
    undo,
    redo,
    restart,
  };
}

import { type RefObject, useEffect, useRef } from "react";

interface Keys {
  isFixed: boolean;
  onUndo: () => void;
  onRedo: () => void;
  onSave: () => void;
  /** Enter on a task. */
  onEdit: () => void;
  /** A: the next task is added after the one that is chosen, if one is. */
  onAddAfter: () => void;
  onFind: () => void;
}

/** The editor's keys. Tab, arrows and Delete are the canvas's; copy and paste are the browser's events. */
export function useEditorKeys(root: RefObject<HTMLElement | null>, keys: Keys): void {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { isFixed, ...act } = now.current;
      if (!(event.target instanceof Element)) return;
      // A press on the empty canvas leaves the focus to what it stands in.
      const isHere = root.current?.contains(event.target) === true || event.target.contains(root.current);
      if (!isHere) return;
      const isTyping = event.target.closest("input, textarea, .cm-editor, [contenteditable=true]") !== null;
      // A folded group takes the keys of a button.
      const isNode = event.target.closest(".react-flow__node") !== null && event.target.closest(".folded") === null;
      const key = event.key.toLowerCase();
      const hasControl = event.ctrlKey || event.metaKey;
      const done = () => event.preventDefault();
      if (hasControl && key === "s") {
        done();
        act.onSave();
      } else if (isFixed) return;
      else if (hasControl && key === "z" && !event.shiftKey) {
        done();
        act.onUndo();
      } else if (hasControl && (key === "y" || (key === "z" && event.shiftKey))) {
        done();
        act.onRedo();
      } else if (isTyping || hasControl || event.altKey) return;
      else if (key === "enter" && isNode) {
        done();
        // The canvas selects the task on the same key; its fields are there a moment later.
        requestAnimationFrame(() => requestAnimationFrame(act.onEdit));
      } else if (key === "a") {
        done();
        act.onAddAfter();
      } else if (key === "insert") {
        done();
        act.onFind();
      }
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [root]);
}

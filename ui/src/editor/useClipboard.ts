import type { ClipboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { say } from "@/parts/notices";
import { taskId, taskOf } from "./flow";
import { copied, pasted } from "./model/clipboard";
import { moveTasks } from "./model/edits";
import type { Place } from "./model/read";
import type { Editing } from "./useEditing";

interface Given {
  editing: Editing;
  places: Record<string, Place>;
  isFixed: boolean;
  selected: string[];
  onSelect: (ids: string[]) => void;
  onRemove: (ids: string[]) => void;
}

/** The selected tasks on the clipboard, and tasks from there; where somebody types, it is the field's. */
export function useClipboard({ editing, places, isFixed, selected, onSelect, onRemove }: Given) {
  const { t } = useTranslation("editor");
  const copy = (event: ClipboardEvent, isCut: boolean) => {
    const names = selected.flatMap((id) => taskOf(id) ?? []);
    if (isTyping(event) || names.length === 0) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", copied(editing.text, names, places));
    if (isCut && !isFixed) onRemove(selected);
    else say(t("copied", { count: names.length }));
  };
  const onPaste = (event: ClipboardEvent) => {
    if (isTyping(event) || isFixed) return;
    event.preventDefault();
    let names: string[] = [];
    const clip = event.clipboardData.getData("text/plain");
    const isDone = editing.edit((text) => {
      const found = pasted(moveTasks(text, places), clip);
      names = found.names;
      return found.text;
    });
    if (isDone) onSelect(names.map(taskId));
  };
  return {
    onCopy: (event: ClipboardEvent) => copy(event, false),
    onCut: (event: ClipboardEvent) => copy(event, true),
    onPaste,
  };
}

function isTyping({ target }: ClipboardEvent): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, .cm-editor") !== null;
}

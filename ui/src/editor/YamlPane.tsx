import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { basicSetup, Decoration, EditorState, EditorView, StateEffect, StateField } from "@uiw/react-codemirror";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { differenceOf } from "./model/difference";
import { yamlLook } from "./yamlLook";

const setLines = StateEffect.define<[number, number] | null>();
const chosenLines = StateField.define({
  create: () => Decoration.none,
  update(shown, transaction) {
    let next = shown.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setLines)) continue;
      const { doc } = transaction.state;
      const [first, last] = effect.value ?? [1, 0];
      const line = Decoration.line({ class: "cm-selected-task" });
      next = Decoration.set(
        Array.from({ length: Math.max(0, Math.min(last, doc.lines) - first + 1) }, (_, at) =>
          line.range(doc.line(first + at).from),
        ),
      );
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Scroll a line into the view, and nothing around it: the page stays where it is. */
function reveal(view: EditorView, line: number): void {
  view.requestMeasure({
    read: () => view.lineBlockAt(view.state.doc.line(line).from),
    write: ({ top, height }) => {
      const { scrollTop, clientHeight } = view.scrollDOM;
      if (top < scrollTop || top + height > scrollTop + clientHeight)
        view.scrollDOM.scrollTop = Math.max(0, top - clientHeight / 3);
    },
  });
}

interface Props {
  text: string;
  isFixed: boolean;
  /** The lines of the selected task, from 1. */
  lines: [number, number] | null;
  marks: { line: number; sentence: string; isWarning: boolean }[];
  onText: (text: string) => void;
  /** The line in which somebody put the cursor. */
  onLine: (line: number) => void;
}

/** The workflow as YAML, next to its canvas: a change of either shows in the other at once. */
export default function YamlPane({ text, isFixed, lines, marks, onText, onLine }: Props) {
  const { t } = useTranslation("editor");
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const told = useRef({ onText, onLine });
  told.current = { onText, onLine };
  const first = useRef(text);
  const label = t("yaml");

  useEffect(() => {
    if (place.current === null) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          // Undo is the page's: it knows what was done on the canvas too.
          basicSetup({ history: false, historyKeymap: false, highlightActiveLine: false, lintKeymap: true }),
          ...yamlLook,
          lintGutter(),
          chosenLines,
          EditorState.readOnly.of(isFixed),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.updateListener.of((update) => {
            const isTyped = update.transactions.some(
              (each) => each.isUserEvent("input") || each.isUserEvent("delete") || each.isUserEvent("move.line"),
            );
            if (update.docChanged && isTyped) told.current.onText(update.state.doc.toString());
            if (update.selectionSet && update.transactions.some((each) => each.isUserEvent("select")))
              told.current.onLine(update.state.doc.lineAt(update.state.selection.main.head).number);
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [isFixed, label]);

  useEffect(() => {
    first.current = text;
    const shown = view.current;
    if (shown === null) return;
    const change = differenceOf(shown.state.doc.toString(), text);
    if (change !== null) shown.dispatch({ changes: change });
  }, [text]);

  const [from, to] = lines ?? [0, 0];
  useEffect(() => {
    const shown = view.current;
    if (shown === null) return;
    shown.dispatch({ effects: setLines.of(from === 0 ? null : [from, to]) });
    if (from > 0 && !shown.hasFocus && from <= shown.state.doc.lines) reveal(shown, from);
  }, [from, to]);

  useEffect(() => {
    const shown = view.current;
    if (shown === null) return;
    const found = marks
      .filter((mark) => mark.line >= 1 && mark.line <= shown.state.doc.lines)
      .map((mark): Diagnostic => {
        const line = shown.state.doc.line(mark.line);
        const start = line.from + (line.text.length - line.text.trimStart().length);
        return { from: start, to: line.to, severity: mark.isWarning ? "warning" : "error", message: mark.sentence };
      });
    shown.dispatch(setDiagnostics(shown.state, found));
  }, [marks]);

  return <div ref={place} className="yaml-text" />;
}

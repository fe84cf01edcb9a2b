import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { basicSetup, EditorState, EditorView } from "@uiw/react-codemirror";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { yamlLook } from "@/editor/yamlLook";

/** The words of the library that are seen. */
const COLLAPSED = "$ unchanged lines";

const looks = [
  basicSetup({ history: false, highlightActiveLine: false, highlightActiveLineGutter: false }),
  ...yamlLook,
  EditorState.readOnly.of(true),
  EditorView.theme({
    ".cm-changedLine": { backgroundColor: "var(--success-tint) !important" },
    ".cm-deletedChunk, &.cm-merge-a .cm-changedLine": { backgroundColor: "var(--failure-tint) !important" },
    ".cm-changedText": { background: "none !important", textDecoration: "underline" },
    "&.cm-merge-b .cm-changedText, .cm-inlineChangedLine": { background: "var(--success-edge) !important" },
    "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": { background: "var(--failure-edge) !important" },
    ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: '"···"' },
    ".cm-collapsedLines": { background: "var(--hover)", color: "var(--text-3)" },
  }),
];
const options = { collapseUnchanged: { margin: 3, minSize: 6 }, highlightChanges: true, gutter: true } as const;

/** Two texts compared: side by side, or as one with the removed lines in it. */
export default function YamlDiff({ older, newer, isBeside }: { older: string; newer: string; isBeside: boolean }) {
  const { t } = useTranslation("workflow");
  const unchanged = t("unchanged");
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (place.current === null) return;
    const own = [...looks, EditorState.phrases.of({ [COLLAPSED]: unchanged })];
    const made = isBeside
      ? new MergeView({
          parent: place.current,
          a: { doc: older, extensions: own },
          b: { doc: newer, extensions: own },
          ...options,
        })
      : new EditorView({
          parent: place.current,
          doc: newer,
          extensions: [...own, unifiedMergeView({ original: older, mergeControls: false, ...options })],
        });
    return () => made.destroy();
  }, [older, newer, isBeside, unchanged]);
  return <div ref={place} className="yaml-diff" />;
}

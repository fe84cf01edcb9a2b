import { type Node, type NodeProps, NodeResizer } from "@xyflow/react";
import { memo, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

export type NoteNodeType = Node<
  { text: string; isFixed: boolean; onText: (text: string) => void; onSize: (w: number, h: number) => void },
  "note"
>;

/** A note on the canvas: a double click or enter edits it. */
export const NoteNode = memo(function NoteNode({ data, selected }: NodeProps<NoteNodeType>) {
  const { t } = useTranslation("editor");
  const [typed, setTyped] = useState<string | null>(data.text === "" ? "" : null);
  useEffect(() => {
    if (!selected) setTyped(null);
  }, [selected]);
  const keep = () => {
    if (typed !== null && typed !== data.text) data.onText(typed);
    setTyped(null);
  };
  return (
    <div className="note-node">
      <NodeResizer
        isVisible={selected && !data.isFixed}
        minWidth={80}
        minHeight={32}
        onResizeEnd={(_, { width, height }) => data.onSize(width, height)}
      />
      {typed === null ? (
        <button
          type="button"
          className="note-text"
          tabIndex={-1}
          onDoubleClick={() => !data.isFixed && setTyped(data.text)}
        >
          {data.text || t("emptyNote")}
        </button>
      ) : (
        <textarea
          className="nodrag nowheel"
          aria-label={t("note")}
          // biome-ignore lint/a11y/noAutofocus: it appears because somebody asked to write in it
          autoFocus
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          onBlur={keep}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key === "Escape") keep();
          }}
        />
      )}
    </div>
  );
});

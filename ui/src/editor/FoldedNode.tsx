import { IconChevronRight } from "@tabler/icons-react";
import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";
import { useTranslation } from "react-i18next";
import { type Folding, focusAfter } from "@/graph/folding";

export type FoldedNodeType = Node<{ group: string; tasks: number; problems: number; folding: Folding }, "folded">;

/** A group of tasks as one node, which unfolds it. */
export const FoldedNode = memo(function FoldedNode({ data }: NodeProps<FoldedNodeType>) {
  const { t } = useTranslation(["editor", "parts"]);
  const { group, tasks, problems, folding } = data;
  return (
    <button
      ref={focusAfter(group, true)}
      type="button"
      className="task-node folded nopan nodrag"
      data-bad={problems > 0}
      aria-expanded={false}
      title={t("parts:unfold", { name: group })}
      onClick={() => folding.toggle([group])}
    >
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <span className="task-sign">
        <IconChevronRight size={16} stroke={1.5} aria-hidden />
      </span>
      <b className="cut">{group}</b>
      <small className="cut">
        {t("parts:tasks", { count: tasks })}
        {problems > 0 && ` · ${t("problems", { count: problems })}`}
      </small>
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </button>
  );
});

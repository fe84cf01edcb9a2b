import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";
import { useTranslation } from "react-i18next";
import { TypeIcon } from "./icons";
import type { Change } from "./model/compare";
import { asObject, type Task } from "./model/read";

export type TaskNodeType = Node<
  { task: Task; problems: number; warnings: number; isInMaster: boolean; change?: Change; isFixed?: boolean },
  "task"
>;

/** A task on the canvas. */
export const TaskNode = memo(function TaskNode({ data }: NodeProps<TaskNodeType>) {
  const { t } = useTranslation("editor");
  const { task, problems, warnings, isInMaster, change, isFixed } = data;
  const detail = detailOf(task);
  return (
    <div
      className="task-node"
      data-master={isInMaster}
      data-bad={problems > 0}
      data-off={task.isOff}
      data-change={change}
    >
      <Handle type="target" position={Position.Top} isConnectable={!isFixed} />
      <span className="task-sign">
        <TypeIcon type={task.type} />
      </span>
      <b className="cut" title={task.name}>
        {task.name}
      </b>
      <small className="cut">
        {task.type}
        {detail !== "" && ` · ${detail}`}
        {task.isOff && ` · ${t("off")}`}
        {change !== undefined && change !== "same" && ` · ${t(`change.${change}`)}`}
      </small>
      {(problems > 0 || warnings > 0) && (
        <span className="task-flag" title={t(problems > 0 ? "problems" : "warnings", { count: problems || warnings })}>
          <i className="st" data-s={problems > 0 ? "FAILURE" : "LATE"} />
        </span>
      )}
      <Handle type="source" position={Position.Bottom} isConnectable={!isFixed} />
    </div>
  );
});

const DETAIL_MAX = 80;

/** The one parameter that tells tasks of a type apart. */
function detailOf(task: Task): string {
  const { params } = task;
  if (task.type === "SWITCH") return String((Array.isArray(params.cases) ? params.cases.length : 0) + 1);
  for (const field of ["datasource", "workflow", "method", "image", "main_class", "text"])
    if (typeof params[field] === "string") return params[field].slice(0, DETAIL_MAX);
  if (task.type === "WAIT") return Object.keys(asObject(params.for))[0] ?? "";
  if (task.type === "DEPENDENT") {
    const [group] = Array.isArray(params.groups) ? params.groups : [];
    const items = asObject(group).items;
    const named = asObject(Array.isArray(items) ? items[0] : null).workflow;
    if (typeof named === "string") return named;
  }
  return "";
}

import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";
import { useTranslation } from "react-i18next";
import { type Folding, focusAfter } from "@/graph/folding";
import { School } from "@/parts/School";
import { Mark, styleOf } from "@/parts/State";
import { useNow } from "@/parts/Time";
import { count } from "@/parts/time";
import { useRun } from "../context";
import { doneOf, passes, statesOf, type TaskView } from "../model";
import { inShort } from "../words";

export type TaskData = { tasks: TaskView[]; group?: string; folding?: Folding };

/** A task in the graph, or several that stand for one another. */
export const TaskNode = memo(function TaskNode({ data }: NodeProps<Node<TaskData>>) {
  const [task] = data.tasks;
  return (
    <>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      {data.group !== undefined && <Folded {...data} group={data.group} />}
      {task !== undefined &&
        data.group === undefined &&
        (data.tasks.length > 1 ? <Many tasks={data.tasks} /> : <One task={task} />)}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </>
  );
});

function One({ task }: { task: TaskView }) {
  const { t } = useTranslation("run");
  const { run, focus, search, go, openMenu, nodeName } = useRun();
  const { last } = task;
  const now = useNow(passes(task.state));
  const short = inShort(task, t, last?.worker_id ? nodeName(last.worker_id, last.worker) : "", run.read_at, now);
  const { elements } = last ?? {};
  const far = elements ? (100 * elements.done) / Math.max(1, elements.total) : last?.progress?.percent;
  const percent = task.state === "RUNNING_EXECUTION" ? far : undefined;
  return (
    <button
      type="button"
      className="task-node nopan"
      data-s={styleOf(task.state)}
      aria-pressed={(search.task ?? focus?.name) === task.name && search.task !== undefined}
      title={`${task.name}: ${short}`}
      onClick={() => go({ task: task.name, attempt: undefined, at: undefined })}
      onContextMenu={(event) => {
        event.preventDefault();
        openMenu(task.name, event.clientX, event.clientY);
      }}
    >
      <Mark state={task.state} />
      <b className="cut">{task.name}</b>
      <small className="cut">{short}</small>
      {percent !== undefined && <u style={{ width: `${percent}%` }} />}
    </button>
  );
}

/** Tasks that come after the same and before the same: the first's name, how many, and their states. */
function Many({ tasks }: { tasks: TaskView[] }) {
  const { t } = useTranslation("run");
  const { go } = useRun();
  const [first] = tasks;
  const last = tasks.at(-1);
  return (
    <button
      type="button"
      className="task-node many nopan"
      title={`${first?.name} … ${last?.name}`}
      onClick={() => go({ find: commonStart(first?.name ?? "", last?.name ?? ""), tab: "gantt" })}
    >
      <b className="cut">{t("alike", { count: count(tasks.length), name: first?.name })}</b>
      <School states={statesOf(tasks)} />
      <small className="cut">{t("far", { done: count(doneOf(tasks)), total: count(tasks.length) })}</small>
    </button>
  );
}

/** A folded group: its name, and the states of its tasks. */
function Folded({ tasks, group, folding }: TaskData & { group: string }) {
  const { t } = useTranslation(["run", "parts"]);
  return (
    <button
      ref={focusAfter(group, true)}
      type="button"
      className="task-node many nopan"
      aria-expanded={false}
      title={t("parts:unfold", { name: group })}
      onClick={() => folding?.toggle([group])}
    >
      <b className="cut">{group}</b>
      <School states={statesOf(tasks)} />
      <small className="cut">{t("far", { done: count(doneOf(tasks)), total: count(tasks.length) })}</small>
    </button>
  );
}

/** The characters with which both names begin. */
function commonStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return one.slice(0, length);
}

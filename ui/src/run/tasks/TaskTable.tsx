import { TextInput } from "@mantine/core";
import { IconDots, IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Mark, styleOf } from "@/parts/State";
import { Heads } from "@/parts/Table";
import { useNow } from "@/parts/Time";
import { count, duration } from "@/parts/time";
import { useRun } from "../context";
import { ENDED, passes, shownTasks, statesOf, type TaskView } from "../model";
import { gridOf } from "../queries";
import { type Axis, axisOf } from "./bars";
import { criticalPath } from "./criticalPath";
import { AxisHead, GanttBars, Key } from "./GanttBars";
import { chosenByKey } from "./keys";
import { StreamMark } from "./StreamMark";

const ROW = 28;
const TALL_ROW = 40;
/** Of so many tasks the usual times are read. */
const USUAL_TASKS_MAX = 300;

/** The tasks in the order of the definition, each with its attempts as bars in its row. `isTall`: it has the page. */
export function TaskTable({ isTall }: { isTall: boolean }) {
  const { t } = useTranslation("run");
  const { run, tasks, search, go, focus } = useRun();
  const shown = useMemo(() => shownTasks(tasks, search.only, search.find), [tasks, search.only, search.find]);
  const axis = useAxis();
  const path = useMemo(() => criticalPath(tasks), [tasks]);
  const grid = useQuery({ ...gridOf(run.workflow_code), enabled: tasks.length <= USUAL_TASKS_MAX });
  const usual = useMemo(() => new Map(grid.data?.tasks.map((task) => [task.name, task.usual_s ?? null])), [grid.data]);
  const box = useRef<HTMLDivElement>(null);
  const height = matchMedia("(max-width: 860px)").matches ? TALL_ROW : ROW;
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: 12,
  });
  const items = rows.getVirtualItems();
  return (
    <Panel
      title={t("tasks")}
      remark={count(shown.length)}
      end={
        <>
          {isTall && <Key />}
          {tasks.length > 12 && (
            <TextInput
              size="xs"
              className="find-task"
              aria-label={t("findTask")}
              placeholder={t("findTask")}
              leftSection={<IconSearch size={14} stroke={1.5} />}
              defaultValue={search.find ?? ""}
              onChange={(event) => go({ find: event.currentTarget.value })}
            />
          )}
        </>
      }
    >
      <StateChips />
      {shown.length === 0 ? (
        <Empty title={t("noTaskShown")} />
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: rows are chosen with j and k, as in a list
        <div
          className="task-rows"
          data-tall={isTall || undefined}
          ref={box}
          onKeyDown={(event) => {
            const next = chosenByKey(event.key, shown, focus?.name ?? null);
            if (next === null) return;
            event.preventDefault();
            go({ task: next });
            rows.scrollToIndex(shown.findIndex((task) => task.name === next));
          }}
        >
          <table className="tasks dense" aria-rowcount={shown.length}>
            <Heads
              of={[
                t("task"),
                { opt: t("type") },
                { opt: t("on") },
                { "num opt": t("attempt") },
                <th key="bars" className="gc">
                  <AxisHead axis={axis} />
                </th>,
                { num: t("took") },
                { unseen: t("actions") },
              ]}
            />
            <tbody>
              {(items[0]?.start ?? 0) > 0 && <tr className="space" style={{ height: items[0]?.start }} />}
              {items.map((item) => {
                const task = shown[item.index];
                return (
                  task !== undefined && (
                    <TaskRow
                      key={task.name}
                      task={task}
                      isChosen={task.name === search.task}
                      usualS={usual.get(task.name) ?? null}
                      bars={
                        <GanttBars
                          task={task}
                          axis={axis}
                          isCritical={path.has(task.name) && tasks.length > 1}
                          usualS={usual.get(task.name) ?? null}
                        />
                      }
                    />
                  )
                );
              })}
              <tr className="space" style={{ height: Math.max(0, rows.getTotalSize() - (items.at(-1)?.end ?? 0)) }} />
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

/** The time that the bars span; it grows while the run is unfinished. */
function useAxis(): Axis {
  const { run, tasks } = useRun();
  const isEnded = ENDED.includes(run.state);
  const now = useNow(!isEnded);
  const begin = Date.parse(run.started_at);
  const until = isEnded ? null : now;
  return useMemo(() => axisOf(tasks, begin, run.left_s ?? null, until), [tasks, begin, run.left_s, until]);
}

/** The states of the tasks with how many are in each: one that is pressed shows these alone. */
function StateChips() {
  const { t } = useTranslation("run");
  const { tasks, search, go } = useRun();
  const states = useMemo(() => Object.entries(statesOf(tasks)), [tasks]);
  if (states.length <= 1) return null;
  return (
    <div className="chips of-states">
      {states.map(([state, number]) => (
        <button
          key={state}
          type="button"
          className="chip"
          aria-pressed={search.only === state}
          onClick={() => go({ only: search.only === state ? undefined : state })}
        >
          <i className="st" data-s={styleOf(state)} aria-hidden /> {t(`parts:state.${state}`)} <b>{count(number)}</b>
        </button>
      ))}
    </div>
  );
}

interface RowProps {
  task: TaskView;
  isChosen: boolean;
  usualS: number | null;
  bars: React.ReactNode;
}

function TaskRow({ task, isChosen, usualS, bars }: RowProps) {
  const { t } = useTranslation("run");
  const { go, openMenu, nodeName } = useRun();
  const { last } = task;
  return (
    <tr
      aria-selected={isChosen}
      onContextMenu={(event) => {
        event.preventDefault();
        openMenu(task.name, event.clientX, event.clientY);
      }}
    >
      <td>
        <button
          type="button"
          className="task-name"
          onClick={() => go({ task: task.name, attempt: undefined, at: undefined })}
        >
          <Mark state={task.state} />
          <span className="cut">{task.name}</span>
          <StreamMark task={task} />
        </button>
      </td>
      <td className="mute opt">{last?.type ?? ""}</td>
      <td className="mute opt" title={last?.worker ?? undefined}>
        {last?.worker_id ? nodeName(last.worker_id, last.worker) : "–"}
      </td>
      <td className="num opt">{last?.attempt ?? "–"}</td>
      <td className="gc">{bars}</td>
      <td className="num">
        <Took task={task} usualS={usualS} />
      </td>
      <td className="more">
        <button
          type="button"
          className="dots"
          aria-label={t("menuOf", { task: task.name })}
          onClick={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            openMenu(task.name, box.left, box.bottom);
          }}
        >
          <IconDots size={16} stroke={1.5} aria-hidden />
        </button>
      </td>
    </tr>
  );
}

/** How long the last attempt took or takes; what it usually takes where it has not begun. */
function Took({ task, usualS }: { task: TaskView; usualS: number | null }) {
  const now = useNow(passes(task.state));
  const { last } = task;
  if (last?.ended_at != null && last.took_s != null) return duration(last.took_s);
  if (last?.started_at != null) return duration((now - Date.parse(last.started_at)) / 1000);
  if (usualS !== null && ["WAITING", "NOT_BEGUN", "QUEUED"].includes(task.state))
    return <span className="mute">~{duration(usualS)}</span>;
  return "–";
}

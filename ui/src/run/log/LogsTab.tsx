import { SegmentedControl } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Mark } from "@/parts/State";
import { useRun } from "../context";
import { shownTasks } from "../model";
import { LogPane } from "./LogPane";
import { MergedLog } from "./MergedLog";

const LISTED_MAX = 500;

/** The logs: one task's, chosen from the list next to it, or the ends of all. */
export function LogsTab() {
  const { t } = useTranslation("run");
  const { tasks, focus, search, go } = useRun();
  const begun = shownTasks(tasks, search.only, search.find).filter((task) => task.attempts.length > 0);
  return (
    <div className="logs">
      <nav className="panel of-tasks" aria-label={t("tasks")}>
        <SegmentedControl
          size="xs"
          fullWidth
          data={[
            { value: "task", label: t("oneTask") },
            { value: "all", label: t("merged") },
          ]}
          value={search.merged ? "all" : "task"}
          onChange={(value) => go({ merged: value === "all" ? true : undefined })}
        />
        <ul>
          {begun.slice(0, LISTED_MAX).map((task) => (
            <li key={task.name}>
              <button
                type="button"
                aria-current={(!search.merged && task.name === focus?.name) || undefined}
                onClick={() => go({ task: task.name, attempt: undefined, at: undefined, merged: undefined })}
              >
                <Mark state={task.state} /> <span className="cut">{task.name}</span>
                {task.attempts.length > 1 && <span className="n">{task.attempts.length}</span>}
              </button>
            </li>
          ))}
        </ul>
        {begun.length > LISTED_MAX && <p className="mute">{t("moreTasks", { count: begun.length - LISTED_MAX })}</p>}
      </nav>
      {search.merged || focus === null ? <MergedLog /> : <LogPane key={focus.name} task={focus} isTall />}
    </div>
  );
}

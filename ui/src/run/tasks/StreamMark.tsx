import { useTranslation } from "react-i18next";
import { useNow } from "@/parts/Time";
import { duration } from "@/parts/time";
import { useRun } from "../context";
import { isLivingStream, type TaskView } from "../model";

/** That a task is a stream, whether it is ready, how often it began again, and when it begins if it pauses. */
export function StreamMark({ task }: { task: TaskView }) {
  const { t } = useTranslation("run");
  const { run } = useRun();
  const { last } = task;
  const isPausing = last !== null && task.state === "DELAY_EXECUTION" && last.due_in_s != null;
  const now = useNow(isPausing);
  if (last?.is_stream !== true) return null;
  const said = [t("stream")];
  if (isLivingStream(task) && last.is_ready != null && task.state === "RUNNING_EXECUTION")
    said.push(t(last.is_ready ? "ready" : "notReady"));
  if (last.attempt > 1) said.push(t("restarts", { count: last.attempt - 1 }));
  if (isPausing && last.due_in_s != null) {
    const left = last.due_in_s - (now - run.read_at) / 1000;
    said.push(t("startsIn", { time: duration(Math.max(0, left)) }));
  }
  const text = said.join(" · ");
  return (
    <span className="mute stream-mark" title={text} data-ready={last.is_ready ?? undefined}>
      {text}
    </span>
  );
}

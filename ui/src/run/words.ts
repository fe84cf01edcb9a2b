/** A task in a few words: what it did, does, or waits for. */
import type { TFunction } from "i18next";
import { count, duration } from "@/parts/time";
import { asksSomebody, dueIn, type TaskView } from "./model";

const WORDS: Record<string, string> = { RETRY: "short.retry", LOOK: "short.look" };

/** Such as `38 s · w1`, `68 %, ~1 m left`, `retry in 41 s` or `after transform`. */
export function inShort(task: TaskView, t: TFunction, node: string, readAt: number, now: number): string {
  const { last, state } = task;
  if (last === null) {
    if (state === "WAITING" || state === "NOT_BEGUN") {
      const after = task.missing.length > 0 ? task.missing : task.after;
      if (after.length === 0) return t("short.first");
      return after.length === 1 ? t("short.after", { task: after[0] }) : t("short.afterMany", { count: after.length });
    }
    return t(task.isUnneeded ? "short.unmet" : `short.${state}`);
  }
  switch (state) {
    case "DELAY_EXECUTION": {
      const due = dueIn(last, readAt, now);
      const word = last.is_stream ? "startsIn" : (WORDS[last.wait_reason ?? ""] ?? "short.delay");
      return due === null ? t("short.soon") : t(word, { time: due < 10 ? `${Math.ceil(due)} s` : duration(due) });
    }
    case "QUEUED":
      return t("short.queued", { group: last.worker_group });
    case "DISPATCH":
      return t("short.claimed", { node });
    case "RUNNING_EXECUTION": {
      const ran = last.started_at ? duration((now - Date.parse(last.started_at)) / 1000) : "";
      if (last.elements)
        return t("short.elements", { done: count(last.elements.done), total: count(last.elements.total) });
      if (asksSomebody(task)) return t("short.asks", { time: ran });
      const percent = last.progress ? `${Math.round(last.progress.percent)} %` : ran;
      return last.left_s ? t("short.left", { percent, time: duration(last.left_s) }) : `${percent} · ${node}`;
    }
    case "FORCED_SUCCESS":
      return t("short.FORCED_SUCCESS");
    case "FAILURE":
    case "KILL":
    case "NEED_FAULT_TOLERANCE":
    case "SKIPPED":
      return last.reason ?? t(`parts:state.${state}`);
    default: {
      const took = duration(last.took_s ?? 0);
      if (last.choice) return last.choice;
      return last.attempt > 1 ? t("short.attempt", { took, count: last.attempt }) : node ? `${took} · ${node}` : took;
    }
  }
}

import { Button } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { Panel } from "@/parts/Panel";
import { Mark } from "@/parts/State";
import { Moment } from "@/parts/Time";
import { useRun } from "../context";
import { ENDED } from "../model";
import { LogText } from "./LogText";
import { isError, linesOf } from "./lines";

const AT_ONCE = 15;
const BYTES = 8_192;
const SHOWN_MAX = 4_000;

/** The ends of the logs of all attempts that have begun, in the order in which they began. */
export function MergedLog() {
  const { t } = useTranslation("run");
  const { run, search, go, nodeName } = useRun();
  const [shown, setShown] = useState(AT_ONCE);
  const begun = run.tasks
    .filter((attempt) => attempt.started_at != null && attempt.counts !== false)
    .sort((one, other) => Date.parse(one.started_at ?? "") - Date.parse(other.started_at ?? ""));
  const first = Math.max(0, begun.length - shown);
  const parts = begun.slice(first);
  const logs = useQueries({
    queries: parts.map((attempt) => ({
      queryKey: ["log-end", attempt.id, attempt.state],
      queryFn: () => readEnd(attempt.id),
      refetchInterval: attempt.ended_at == null && !ENDED.includes(run.state) ? 2_000 : (false as const),
      retry: false,
    })),
  });
  return (
    <Panel title={t("merged")} remark={t("mergedSays", { count: begun.length })} className="log tall">
      <div className="merged">
        {first > 0 && (
          <p>
            <Button size="xs" variant="default" onClick={() => setShown(shown + AT_ONCE)}>
              {t("earlierTasks", { count: first })}
            </Button>
          </p>
        )}
        {parts.map((attempt, place) => {
          const log = logs[place];
          return (
            <section key={attempt.id}>
              <h3>
                <Mark state={attempt.state} />
                <button
                  type="button"
                  className="as-link"
                  onClick={() => go({ merged: undefined, task: attempt.name, attempt: attempt.id })}
                >
                  {attempt.name}
                </button>
                <span className="mute">
                  {t("attemptNo", { number: attempt.attempt })}
                  {attempt.worker_id ? ` · ${nodeName(attempt.worker_id, attempt.worker)}` : ""} ·{" "}
                  <Moment at={attempt.started_at ?? attempt.queued_at} />
                </span>
              </h3>
              {log?.error && <p className="mute">{log.error.message}</p>}
              {log?.data?.isCut && <p className="mute">{t("earlierCut")}</p>}
              {log?.data?.lines.map((line) => (
                <div key={line.at} className="log-line" data-error={isError(line.text) || undefined}>
                  <LogText text={line.text} from={0} length={SHOWN_MAX} sought={search.q} />
                </div>
              ))}
              {log?.data?.lines.length === 0 && <p className="mute">{t("emptyLog")}</p>}
            </section>
          );
        })}
        {begun.length === 0 && <p className="mute">{t("noneBegun")}</p>}
      </div>
    </Panel>
  );
}

async function readEnd(attempt: string) {
  const { data, response } = await api.GET("/api/v1/task-instances/{id}/log", {
    params: { path: { id: attempt }, header: { Range: `bytes=-${BYTES}` } },
    parseAs: "arrayBuffer",
  });
  const isCut = !/^bytes 0-/.test(response.headers.get("Content-Range") ?? "bytes 0-");
  return { isCut, lines: linesOf(new Uint8Array(data as ArrayBuffer), 0, isCut, true) };
}

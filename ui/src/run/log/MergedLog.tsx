import { useQueries } from "@tanstack/react-query";
import { useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { answers } from "@/api/client";
import { SmallAct } from "@/parts/Act";
import { Panel } from "@/parts/Panel";
import { Mark } from "@/parts/State";
import { useRun } from "../context";
import { ENDED } from "../model";
import { LogText } from "./LogText";
import { isError, linesOf } from "./lines";
import { merged } from "./merge";

const AT_ONCE = 15;
const BYTES = 8_192;
const SHOWN_MAX = 4_000;
const NEAR_PX = 20;
/** Colours of names, see run.css. */
const HUES = 6;

/** The ends of the logs of the attempts that began last, as one log by time. */
export function MergedLog() {
  const { t } = useTranslation("run");
  const { run, search, go } = useRun();
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
  const now = Date.now();
  const lines = merged(
    parts.map((attempt, place) => ({
      begun: Date.parse(attempt.started_at ?? ""),
      ended: attempt.ended_at == null ? now : Date.parse(attempt.ended_at),
      lines: logs[place]?.data?.lines ?? [],
    })),
  );
  const cut = logs.filter((log) => log.data?.isCut).length;
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const length = lines.length;
  // The newest lines are the last ones; who has scrolled up stays there.
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && length > 0 && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [length]);
  const onScroll = () => {
    const element = box.current;
    if (element !== null) isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR_PX;
  };
  return (
    <Panel title={t("merged")} remark={t("mergedSays", { count: begun.length })} className="log tall">
      <div
        className="merged"
        ref={box}
        onScroll={onScroll}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by the keyboard
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={t("merged")}
      >
        {first > 0 && (
          <p>
            <SmallAct onClick={() => setShown(shown + AT_ONCE)} word={t("earlierTasks", { count: first })} />
          </p>
        )}
        {cut > 0 && <p className="mute">{t("endsOnly", { count: cut })}</p>}
        {parts.map((attempt, place) => {
          const log = logs[place];
          const said = log?.error ? log.error.message : log?.data?.lines.length === 0 ? t("emptyLog") : null;
          return (
            said !== null && (
              <p key={attempt.id} className="mute">
                <Mark state={attempt.state} /> {attempt.name}: {said}
              </p>
            )
          );
        })}
        {lines.map(({ part, line }) => {
          const attempt = parts[part];
          if (attempt === undefined) return null;
          return (
            <div key={`${attempt.id} ${line.at}`} className="log-line" data-error={isError(line.text) || undefined}>
              <button
                type="button"
                tabIndex={-1}
                data-hue={(first + part) % HUES}
                title={t("attemptNo", { number: attempt.attempt })}
                onClick={() => go({ merged: undefined, task: attempt.name, attempt: attempt.id, at: line.at })}
              >
                {attempt.name}
              </button>
              <LogText text={line.text} from={0} length={SHOWN_MAX} sought={search.q} />
            </div>
          );
        })}
        {begun.length === 0 && <p className="mute">{t("noneBegun")}</p>}
      </div>
    </Panel>
  );
}

async function readEnd(attempt: string) {
  const { data, response } = await answers.GET("/api/v1/task-instances/{id}/log", {
    params: { path: { id: attempt }, header: { Range: `bytes=-${BYTES}` } },
    parseAs: "arrayBuffer",
  });
  const from = Number(/^bytes (\d+)-/.exec(response.headers.get("Content-Range") ?? "")?.[1] ?? 0);
  return { isCut: from > 0, lines: linesOf(new Uint8Array(data as ArrayBuffer), from, from > 0, true) };
}

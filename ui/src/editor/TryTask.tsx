import { Textarea } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { useTopics } from "@/live/eventSource";
import { useMay } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Failure } from "@/parts/Answer";
import { RunLink } from "@/parts/Links";
import { State } from "@/parts/State";
import { duration } from "@/parts/time";
import { runOf } from "@/run/queries";
import type { Task } from "./model/read";
import { valuesOf } from "./model/values";

const WAIT_S = 10;
const LOG_BYTES = 16_000;
const ENDED = ["SUCCESS", "FAILURE", "STOP", "PAUSE"];

/** Run one task once with sample values, as it stands in the editor; nothing is saved. */
export function TryTask({ task, project, timeZone }: { task: Task; project: string; timeZone: string }) {
  const { t } = useTranslation("editor");
  const mayTry = useMay("EDITOR", project);
  const [typed, setTyped] = useState("");
  const values = valuesOf(typed);
  const start = useMutation({
    mutationFn: () => {
      const { after: _after, code: _code, ...fields } = task.fields;
      return api.POST("/api/v1/task-definitions:try", {
        params: { query: { wait: WAIT_S } },
        body: { project, task: fields, params: values ?? {}, time_zone: timeZone },
      });
    },
    retry: false,
  });
  return (
    <details className="more try">
      <summary>
        {t("try")} <span className="mute">{t("tryHint")}</span>
      </summary>
      <div className="form">
        <Textarea
          label={t("sample")}
          placeholder="day: 2026-01-31"
          error={values === null ? t("pairsHelp") : undefined}
          value={typed}
          autosize
          minRows={2}
          classNames={{ input: "mono" }}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Act
          variant="default"
          leftSection={<IconPlayerPlay size={14} aria-hidden />}
          loading={start.isPending}
          why={!mayTry ? t("fixed") : null}
          onClick={() => values !== null && start.mutate()}
          word={t("tryNow")}
        />
        {start.error !== null && <Failure error={start.error} />}
        {start.data !== undefined &&
          (start.data.run_id ? (
            <Outcome key={start.data.run_id} run={start.data.run_id} />
          ) : (
            <p className="mute">{t("tryWaits", { command: start.data.command_id, why: start.data.reason ?? "" })}</p>
          ))}
      </div>
    </details>
  );
}

/** How the try went, and the end of what it wrote. */
function Outcome({ run }: { run: string }) {
  const { t } = useTranslation("editor");
  useTopics(`run:${run}`);
  const found = useQuery(runOf(run));
  const [attempt] = found.data?.tasks ?? [];
  const isOver = found.data !== undefined && ENDED.includes(found.data.state);
  const log = useQuery({
    queryKey: ["try-log", attempt?.id],
    queryFn: async () =>
      String(
        await api.GET("/api/v1/task-instances/{id}/log", {
          params: { path: { id: attempt?.id ?? "" }, query: { offset: 0, limit: LOG_BYTES } },
          parseAs: "text",
        }),
      ),
    enabled: isOver && attempt !== undefined,
    retry: false,
  });
  if (found.error !== null) return <Failure error={found.error} />;
  if (found.data === undefined) return null;
  return (
    <div className="try-outcome">
      <p className="line">
        <State state={found.data.state} /> <span className="mute">{duration(found.data.elapsed_s)}</span>
        <RunLink id={run}>{t("tryRun", { run })}</RunLink>
      </p>
      {attempt?.reason && <p className="task-problem">{attempt.reason}</p>}
      {log.error !== null && <Failure error={log.error} />}
      {log.data !== undefined && <pre className="try-log">{log.data === "" ? t("noLog") : log.data}</pre>}
      {log.data !== undefined && log.data.length >= LOG_BYTES && <p className="mute">{t("logCut")}</p>}
    </div>
  );
}

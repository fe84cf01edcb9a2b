import { IconPlayerPause, IconPlayerPlay, IconPlayerStop, IconRefresh } from "@tabler/icons-react";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { bodyOf as answerOf, api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { useProject } from "@/app/ProjectSwitch";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { say, sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { State } from "@/parts/State";
import { Table } from "@/parts/Table";
import type { Asked, Progress } from "./backfill";
import { localTime } from "./draft";

const AGAIN_MS = 2_000;
/** Ended by a hand: such a run goes on where it was. */
const RESUMABLE = ["PAUSE", "STOP"];

interface Props {
  id: string;
  asked: Asked;
  /** false: dates that were done before are counted too. */
  isExact: boolean;
}

/** Figures, a bar, and the chains that run or stopped. */
export function BackfillState({ id, asked, isExact }: Props) {
  const { t } = useTranslation("schedules");
  const whyNot = useWhyNot("OPERATOR", useProject());
  const found = useQuery({
    queryKey: ["backfill", id],
    queryFn: () =>
      answerOf(
        api.POST("/api/v1/backfills/{id}/progress", {
          params: { path: { id } },
          body: { chains: asked.chains, workflows: asked.workflows.map((each) => each.code) },
        }),
      ),
    refetchInterval: ({ state }) => (state.data && isOver(state.data) ? false : AGAIN_MS),
    placeholderData: keepPreviousData,
  });
  const bulk = useMutation({
    mutationFn: (what: { action: Schemas["BulkAction"]; ids: string[] }) =>
      answerOf(api.POST("/api/v1/workflow-instances:bulk", { body: { ...what, dry_run: false } })),
    onSuccess: (answer) => {
      say(t(`did.${answer.action}`, { count: answer.runs }));
      void queries.invalidateQueries({ queryKey: ["runs"] });
      return queries.invalidateQueries({ queryKey: ["backfill"] });
    },
    onError: sayFailure,
  });
  return (
    <Answer of={found}>
      {(progress) => {
        const running = progress.running.map((each) => each.run_id);
        const resumable = idsOf(progress, (state) => RESUMABLE.includes(state));
        const failed = idsOf(progress, (state) => state === "FAILURE");
        const act = (action: Schemas["BulkAction"], ids: string[]) => () => bulk.mutate({ action, ids });
        return (
          <>
            <Panel
              title={asked.workflow}
              remark={t("backfillSize", { count: progress.total, chains: asked.chains.length })}
              end={
                <>
                  <Act
                    size="xs"
                    variant="default"
                    leftSection={<IconPlayerPause size={14} />}
                    why={whyNot ?? (running.length === 0 ? t("nothingRuns") : null)}
                    onClick={act("PAUSE", running)}
                  >
                    {t("pause")}
                  </Act>
                  <Act
                    size="xs"
                    variant="default"
                    leftSection={<IconPlayerStop size={14} />}
                    why={whyNot ?? (running.length === 0 ? t("nothingRuns") : null)}
                    onClick={act("STOP", running)}
                  >
                    {t("stop")}
                  </Act>
                  <Act
                    size="xs"
                    variant="default"
                    leftSection={<IconPlayerPlay size={14} />}
                    why={whyNot ?? (resumable.length === 0 ? t("nothingPaused") : null)}
                    onClick={act("RESUME", resumable)}
                  >
                    {t("goOn")}
                  </Act>
                  <Act
                    size="xs"
                    variant="default"
                    leftSection={<IconRefresh size={14} />}
                    why={whyNot ?? (failed.length === 0 ? t("nothingFailed") : null)}
                    onClick={act("RERUN_FAILED", failed)}
                  >
                    {t("rerunFailed")}
                  </Act>
                </>
              }
            >
              <div className="form pad">
                <p className="rule-words">{t(sentenceKey(progress))}</p>
                <div
                  className="progress-bar"
                  role="progressbar"
                  aria-label={t("progress")}
                  aria-valuemin={0}
                  aria-valuemax={progress.total}
                  aria-valuenow={progress.done}
                >
                  <Share state="SUCCESS" part={progress.done} of={progress.total} />
                  <Share state="RUNNING_EXECUTION" part={running.length} of={progress.total} />
                  <Share state="FAILURE" part={failed.length} of={progress.total} />
                  <Share state="PAUSE" part={resumable.length} of={progress.total} />
                </div>
                <dl className="backfill-figures">
                  {(
                    [
                      ["done", progress.done],
                      ["running", running.length],
                      ["stoppedChains", progress.stopped.length],
                      ["left", progress.total - progress.done - running.length - progress.stopped.length],
                    ] as const
                  ).map(([word, count]) => (
                    <div key={word}>
                      <dt>{t(`figure.${word}`)}</dt>
                      <dd>{count}</dd>
                    </div>
                  ))}
                </dl>
                {progress.reason && <p className="problem">{progress.reason}</p>}
                {!isExact && <p className="mute">{t("notExact")}</p>}
              </div>
            </Panel>
            {(progress.running.length > 0 || progress.stopped.length > 0) && (
              <Panel title={t("chains")}>
                <Table heads={[t("forTime", { zone: asked.time_zone }), { num: t("run") }, t("state"), t("why")]}>
                  {progress.running.map((each) => (
                    <ChainRow key={each.run_id} at={each.date} run={each.run_id} state={each.state} asked={asked} />
                  ))}
                  {progress.stopped.map((each) => (
                    <ChainRow
                      key={`${each.workflow} ${each.date}`}
                      at={each.date}
                      run={each.run_id ?? null}
                      state={each.state ?? "REFUSED"}
                      asked={asked}
                      why={t("chainStopped", { why: each.reason ?? "", left: each.dates_left })}
                    />
                  ))}
                </Table>
              </Panel>
            )}
          </>
        );
      }}
    </Answer>
  );
}

function Share({ state, part, of }: { state: string; part: number; of: number }) {
  if (part === 0 || of === 0) return null;
  return <i data-s={state} ref={(bar) => bar?.style.setProperty("--share", `${(100 * part) / of}%`)} />;
}

interface ChainProps {
  at: string;
  run: string | null;
  state: string;
  asked: Asked;
  why?: string;
}

function ChainRow({ at, run, state, asked, why = "" }: ChainProps) {
  return (
    <tr>
      <td>{localTime(at, asked.time_zone).replace("T", " ")}</td>
      <td className="num">
        {run === null ? (
          "–"
        ) : (
          <Link to="/runs/$id" params={{ id: run }} search={{}}>
            {run}
          </Link>
        )}
      </td>
      <td>
        <State state={state} />
      </td>
      <td className="wide">{why}</td>
    </tr>
  );
}

function idsOf(progress: Progress, isWanted: (state: string) => boolean): string[] {
  return progress.stopped.flatMap((each) => (each.run_id && each.state && isWanted(each.state) ? [each.run_id] : []));
}

/** Whether nothing of it goes on by itself. */
function isOver(progress: Progress): boolean {
  return progress.is_taken === true && progress.running.length === 0 && progress.waiting === 0;
}

function sentenceKey(progress: Progress): string {
  if (progress.is_taken !== true) return "backfillWaits";
  if (progress.running.length > 0 || progress.waiting > 0) return "backfillRuns";
  return progress.stopped.length > 0 ? "backfillStopped" : "backfillDone";
}

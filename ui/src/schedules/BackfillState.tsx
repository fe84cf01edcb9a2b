import { IconPlayerPause, IconPlayerPlay, IconPlayerStop, IconRefresh } from "@tabler/icons-react";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { useProject } from "@/app/ProjectSwitch";
import { useWhyNot } from "@/login/rights";
import { SmallAct } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Facts } from "@/parts/Facts";
import { RunLink } from "@/parts/Links";
import { say, sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { State } from "@/parts/State";
import { Table } from "@/parts/Table";
import type { Asked, Progress } from "./backfill";
import { localTime } from "./draft";

const AGAIN_MS = 2_000;
/** Ended by a person: such a run can be resumed. */
const RESUMABLE = ["PAUSE", "STOP"];
const ACTS = [
  { action: "PAUSE", of: "running", icon: IconPlayerPause, verb: "pause", none: "nothingRuns" },
  { action: "STOP", of: "running", icon: IconPlayerStop, verb: "stop", none: "nothingRuns" },
  { action: "RESUME", of: "resumable", icon: IconPlayerPlay, verb: "goOn", none: "nothingPaused" },
  { action: "RERUN_FAILED", of: "failed", icon: IconRefresh, verb: "rerunFailed", none: "nothingFailed" },
] as const;

interface Props {
  id: string;
  asked: Asked;
  /** false: dates that were done before are counted too. */
  isExact: boolean;
}

/** Figures, a bar, and the chains that run or stopped. */
export function BackfillState({ id, asked, isExact }: Props) {
  const { t } = useTranslation("schedules");
  const found = useQuery({
    queryKey: ["backfill", id],
    queryFn: () =>
      api.POST("/api/v1/backfills/{id}/progress", {
        params: { path: { id } },
        body: { chains: asked.chains, workflows: asked.workflows.map((each) => each.code) },
      }),
    refetchInterval: ({ state }) => (state.data && isOver(state.data) ? false : AGAIN_MS),
    placeholderData: keepPreviousData,
  });
  return (
    <Answer of={found}>
      {(progress) => (
        <>
          <Panel
            title={asked.workflow}
            remark={t("backfillSize", { count: progress.total, chains: asked.chains.length })}
            end={<Acts runs={runsOf(progress)} />}
          >
            <Figures progress={progress} isExact={isExact} />
          </Panel>
          {(progress.running.length > 0 || progress.stopped.length > 0) && <Chains progress={progress} asked={asked} />}
        </>
      )}
    </Answer>
  );
}

/** What can be done with the runs of a backfill. */
function Acts({ runs }: { runs: Runs }) {
  const { t } = useTranslation("schedules");
  const whyNot = useWhyNot("OPERATOR", useProject());
  const bulk = useMutation({
    mutationFn: (what: { action: Schemas["BulkAction"]; ids: string[] }) =>
      api.POST("/api/v1/workflow-instances:bulk", { body: { ...what, dry_run: false } }),
    onSuccess: (answer) => {
      say(t(`did.${answer.action}`, { count: answer.runs }));
      void queries.invalidateQueries({ queryKey: ["runs"] });
      return queries.invalidateQueries({ queryKey: ["backfill"] });
    },
    onError: sayFailure,
  });
  return ACTS.map(({ action, of, icon: Icon, verb, none }) => (
    <SmallAct
      key={action}
      leftSection={<Icon size={14} />}
      why={whyNot ?? (runs[of].length === 0 ? t(none) : null)}
      onClick={() => bulk.mutate({ action, ids: runs[of] })}
      word={t(verb)}
    />
  ));
}

function Figures({ progress, isExact }: { progress: Progress; isExact: boolean }) {
  const { t } = useTranslation("schedules");
  const { total, done, stopped } = progress;
  const { running, failed, resumable } = runsOf(progress);
  const figures = {
    done,
    running: running.length,
    stoppedChains: stopped.length,
    left: total - done - running.length - stopped.length,
  };
  return (
    <div className="form pad">
      <p className="rule-words">{t(sentenceKey(progress))}</p>
      <div
        className="progress-bar"
        role="progressbar"
        aria-label={t("progress")}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={done}
      >
        <Share state="SUCCESS" part={done} of={total} />
        <Share state="RUNNING_EXECUTION" part={running.length} of={total} />
        <Share state="FAILURE" part={failed.length} of={total} />
        <Share state="PAUSE" part={resumable.length} of={total} />
      </div>
      <Facts
        className="backfill-figures"
        of={Object.entries(figures).map(([word, count]) => [t(`figure.${word}`), count])}
      />
      {progress.reason && <p className="problem">{progress.reason}</p>}
      {!isExact && <p className="mute">{t("notExact")}</p>}
    </div>
  );
}

function Share({ state, part, of }: { state: string; part: number; of: number }) {
  if (part === 0 || of === 0) return null;
  return <i data-s={state} ref={(bar) => bar?.style.setProperty("--share", `${(100 * part) / of}%`)} />;
}

function Chains({ progress, asked }: { progress: Progress; asked: Asked }) {
  const { t } = useTranslation("schedules");
  const zone = asked.time_zone;
  return (
    <Panel title={t("chains")}>
      <Table heads={[t("forTime", { zone }), { num: t("run") }, t("state"), t("why")]}>
        {progress.running.map((each) => (
          <ChainRow key={each.run_id} at={localTime(each.date, zone)} run={each.run_id} state={each.state} />
        ))}
        {progress.stopped.map((each) => (
          <ChainRow
            key={`${each.workflow} ${each.date}`}
            at={localTime(each.date, zone)}
            run={each.run_id ?? null}
            state={each.state ?? "REFUSED"}
            why={t("chainStopped", { why: each.reason ?? "", left: each.dates_left })}
          />
        ))}
      </Table>
    </Panel>
  );
}

function ChainRow({ at, run, state, why = "" }: { at: string; run: string | null; state: string; why?: string }) {
  return (
    <tr>
      <td>{at.replace("T", " ")}</td>
      <td className="num">{run === null ? "–" : <RunLink id={run} />}</td>
      <td>
        <State state={state} />
      </td>
      <td className="wide">{why}</td>
    </tr>
  );
}

/** The ids of the runs that something can be done with. */
function runsOf({ running, stopped }: Progress) {
  const ended = (isWanted: (state: string) => boolean) =>
    stopped.flatMap((each) => (each.run_id && each.state && isWanted(each.state) ? [each.run_id] : []));
  return {
    running: running.map((each) => each.run_id),
    resumable: ended((state) => RESUMABLE.includes(state)),
    failed: ended((state) => state === "FAILURE"),
  };
}

type Runs = ReturnType<typeof runsOf>;

/** Whether no part of it continues by itself. */
function isOver(progress: Progress): boolean {
  return progress.is_taken === true && progress.running.length === 0 && progress.waiting === 0;
}

function sentenceKey(progress: Progress): string {
  if (progress.is_taken !== true) return "backfillWaits";
  if (progress.running.length > 0 || progress.waiting > 0) return "backfillRuns";
  return progress.stopped.length > 0 ? "backfillStopped" : "backfillDone";
}

import { IconPlayerPause, IconPlayerPlay, IconPlayerStop, IconRefresh } from "@tabler/icons-react";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { useProject } from "@/app/ProjectSwitch";
import { useWhyNot } from "@/login/rights";
import { SmallAct } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { RunLink } from "@/parts/Links";
import { say, sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { State } from "@/parts/State";
import { SureAct } from "@/parts/SureAct";
import { Table } from "@/parts/Table";
import { coarse } from "@/parts/Time";
import { type Selection, toggled } from "@/runs/selection";
import { BackfillDates } from "./BackfillDates";
import { type Asked, type Chain, chainsOf, leftS, type Progress } from "./backfill";
import { localTime } from "./draft";

const AGAIN_MS = 2_000;
/** Of a backfill with more dates there are figures only. */
const CELLS_MAX = 1_000;
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
}

/** How far it is in words, a cell for each date, and the chains that stopped. */
export function BackfillState({ id, asked }: Props) {
  const { t } = useTranslation("schedules");
  const [chosen, setChosen] = useState<Selection>(new Set());
  const isDrawn = asked.dates * asked.workflows.length <= CELLS_MAX;
  const found = useQuery({
    queryKey: ["backfill", id],
    queryFn: () =>
      api.POST("/api/v1/backfills/{id}/progress", {
        params: { path: { id } },
        body: { chains: asked.chains, workflows: asked.workflows.map((each) => each.code), runs: isDrawn },
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
            end={<Acts runs={runsOf(progress)} chosen={chosen} onDone={() => setChosen(new Set())} />}
          >
            <HowFar progress={progress} chains={chainsOf(asked, progress)} />
            {isDrawn ? (
              <BackfillDates chains={chainsOf(asked, progress)} zone={asked.time_zone} />
            ) : (
              <p className="pad mute">{t("notDrawn")}</p>
            )}
          </Panel>
          {progress.stopped.length > 0 && (
            <Stopped of={progress.stopped} zone={asked.time_zone} chosen={chosen} onChoose={setChosen} />
          )}
        </>
      )}
    </Answer>
  );
}

interface ActsProps {
  runs: Runs;
  chosen: Selection;
  onDone: () => void;
}

/** What can be done with the runs of a backfill: with those that are chosen, else with all of them. */
function Acts({ runs, chosen, onDone }: ActsProps) {
  const { t } = useTranslation("schedules");
  const whyNot = useWhyNot("OPERATOR", useProject());
  const bulk = useMutation({
    mutationFn: (what: { action: Schemas["BulkAction"]; ids: string[] }) =>
      api.POST("/api/v1/workflow-instances:bulk", { body: { ...what, dry_run: false } }),
    onSuccess: (answer) => {
      say(t(`did.${answer.action}`, { count: answer.runs }));
      onDone();
      void queries.invalidateQueries({ queryKey: ["runs"] });
      return queries.invalidateQueries({ queryKey: ["backfill"] });
    },
    onError: sayFailure,
  });
  return ACTS.map(({ action, of, icon: Icon, verb, none }) => {
    const some = runs[of].filter((run) => chosen.has(run));
    const ids = some.length > 0 || (chosen.size > 0 && of !== "running") ? some : runs[of];
    const act = {
      leftSection: <Icon size={14} />,
      why: whyNot ?? (ids.length === 0 ? t(none) : null),
      onClick: () => bulk.mutate({ action, ids }),
      word: some.length > 0 ? t(`${verb}Chosen`, { count: some.length }) : t(verb),
    };
    return action === "STOP" && ids.length > 0 ? (
      <SureAct key={action} size="xs" variant="default" {...act} sure={t("sureStop", { count: ids.length })} />
    ) : (
      <SmallAct key={action} {...act} />
    );
  });
}

function HowFar({ progress, chains }: { progress: Progress; chains: Chain[] }) {
  const { t } = useTranslation("schedules");
  const { total, done } = progress;
  const { running, failed, resumable } = runsOf(progress);
  const left = isOver(progress) ? null : leftS(chains, new Set(running));
  return (
    <div className="form pad">
      <p className="rule-words" aria-live="polite">
        {t(sentenceKey(progress), { done, total, count: total })}
        {left !== null && t("aboutLeft", { time: coarse(Math.max(1, left)) })}
      </p>
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
      {progress.reason && <p className="problem">{progress.reason}</p>}
    </div>
  );
}

function Share({ state, part, of }: { state: string; part: number; of: number }) {
  if (part === 0 || of === 0) return null;
  return <i data-s={state} ref={(bar) => bar?.style.setProperty("--share", `${(100 * part) / of}%`)} />;
}

interface StoppedProps {
  of: Progress["stopped"];
  zone: string;
  chosen: Selection;
  onChoose: (chosen: Selection) => void;
}

/** The dates at which chains stopped; those with a run can be chosen. */
function Stopped({ of, zone, chosen, onChoose }: StoppedProps) {
  const { t } = useTranslation("schedules");
  return (
    <Panel title={t("stoppedChains")}>
      <Table
        heads={[
          { unseen: t("choose") },
          t("forTime", { zone }),
          t("workflow"),
          { num: t("run") },
          t("state"),
          t("why"),
        ]}
      >
        {of.map(({ run_id: run, ...each }) => {
          const at = localTime(each.date, zone).replace("T", " ");
          return (
            <tr key={`${each.workflow} ${each.date}`} aria-selected={run ? chosen.has(run) : undefined}>
              <td>
                {run && (
                  <input
                    type="checkbox"
                    aria-label={t("chooseDate", { at })}
                    checked={chosen.has(run)}
                    onChange={() => onChoose(toggled(chosen, run))}
                  />
                )}
              </td>
              <td>{at}</td>
              <td>{each.workflow}</td>
              <td className="num">{run ? <RunLink id={run} /> : "–"}</td>
              <td>
                <State state={each.state ?? "REFUSED"} />
              </td>
              <td className="wide">
                {[each.reason, each.dates_left > 0 && t("datesWait", { count: each.dates_left })]
                  .filter(Boolean)
                  .join("; ")}
              </td>
            </tr>
          );
        })}
      </Table>
    </Panel>
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

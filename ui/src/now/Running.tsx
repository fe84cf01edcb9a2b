import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { useProject } from "@/app/ProjectSwitch";
import { slots } from "@/cluster/queries";
import { Answer, Empty } from "@/parts/Answer";
import { RunLink } from "@/parts/Links";
import { Panel } from "@/parts/Panel";
import { reported } from "@/parts/report";
import { School } from "@/parts/School";
import { schoolOf } from "@/parts/school";
import { Ago } from "@/parts/Time";
import { count, duration } from "@/parts/time";
import { progressOf, type Run, runCount, runsPage } from "@/runs/queries";
import { ACTIVE, runFilterOf } from "@/runs/runFilter";

const SHOWN = 8;

/** The runs that go on now: how far each is, how long it still takes, and which master drives it. */
export function Running() {
  const { t } = useTranslation("now");
  const project = useProject();
  const filter = runFilterOf({ state: ACTIVE }, project);
  const found = useQuery(runsPage(filter, undefined, SHOWN));
  const number = useQuery(runCount(filter));
  const newest = useQuery(runsPage(runFilterOf({}, project), undefined, 1));
  const progress = useQuery(progressOf(found.data?.items.map((run) => run.id) ?? []));
  const masters = useQuery(slots);
  const names = new Map(masters.data?.masters.map((each) => [each.epoch, each.name]));
  const byId = new Map(progress.data?.items.map((each) => [each.id, each]));
  const last = newest.data?.items[0];
  return (
    <Panel
      title={t("running")}
      remark={number.data && count(number.data.number)}
      end={
        <Link to="/runs" search={{}}>
          {t("allRuns")}
        </Link>
      }
    >
      <Answer
        of={found}
        empty={
          <Empty title={t("nothingRuns")}>
            {last && (
              <p>
                {t("lastRun", { name: last.workflow ?? last.workflow_code })} <Ago at={last.started_at} />
              </p>
            )}
          </Empty>
        }
      >
        {(page) => (
          <ul className="running">
            {page.items.map((run) => (
              <RunningRun
                key={run.id}
                run={run}
                progress={byId.get(run.id)}
                master={names.get(run.master_id ?? "") ?? ""}
              />
            ))}
          </ul>
        )}
      </Answer>
    </Panel>
  );
}

interface Props {
  run: Run;
  progress: Schemas["RunProgressAnswer"] | undefined;
  master: string;
}

function RunningRun({ run, progress, master }: Props) {
  const { t } = useTranslation("now");
  const parts = useTranslation("parts").t;
  const report = progress?.reports[0];
  const said =
    report !== undefined
      ? `${report.task} ${reported(report.progress)}`
      : run.state === "RUNNING_EXECUTION"
        ? ""
        : parts(`state.${run.state}`);
  return (
    <li>
      <div className="cut">
        <RunLink id={run.id}>
          <b>{run.workflow ?? run.workflow_code}</b>
        </RunLink>
        <small className="cut">
          {t("run", { id: run.id })}
          {said !== "" && ` · ${said}`}
        </small>
      </div>
      {progress !== undefined ? <School states={schoolOf(progress)} /> : <span />}
      <span className="num">{progress?.total != null && t("ofAll", { done: progress.done, all: progress.total })}</span>
      <span className="num left">
        {progress?.left_s == null
          ? ""
          : progress.left_s < 1
            ? t("over")
            : t("left", { time: duration(Math.round(progress.left_s)) })}
      </span>
      <span className="num mute owner">{master}</span>
    </li>
  );
}

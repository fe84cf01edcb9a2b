import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { slots } from "@/cluster/queries";
import { CopyId, RunLink, WorkflowLink } from "@/parts/Links";
import { reported } from "@/parts/report";
import { School } from "@/parts/School";
import { State } from "@/parts/State";
import { schoolOf } from "@/parts/school";
import { Table } from "@/parts/Table";
import { Elapsed, Moment } from "@/parts/Time";
import { duration } from "@/parts/time";
import { lastRunsOf, progressOf, type Run } from "./queries";
import { ACTIVE } from "./runFilter";
import { type Selection, toggled } from "./selection";

interface Props {
  runs: Run[];
  selection: Selection;
  onSelect: (selection: Selection) => void;
  /** The row that the keys are about. */
  at: string | null;
  onGo: (id: string) => void;
}

/** Runs as rows: what each is, how far, how long against its median, who drives it, and why it failed. */
export function RunTable({ runs, selection, onSelect, at, onGo }: Props) {
  const { t } = useTranslation("runs");
  const ids = runs.map((run) => run.id);
  const found = useQuery(progressOf(ids));
  const progress = new Map(found.data?.items.map((each) => [each.id, each]));
  const times = useQuery(lastRunsOf([...new Set(runs.map((run) => run.workflow_code))].sort(), 1));
  const usual = new Map(times.data?.items.map((each) => [each.code, each.usual_s]));
  const nodes = useQuery(slots);
  const masters = new Map(nodes.data?.masters.map((each) => [each.epoch, `${each.name} ${each.believes ?? ""}`]));
  const isAll = ids.length > 0 && ids.every((id) => selection.has(id));
  return (
    <Table
      className="list runs"
      chosenAs="runs"
      heads={[
        <th key="select">
          <input
            type="checkbox"
            aria-label={t("selectPage")}
            checked={isAll}
            ref={(box) => {
              if (box !== null) box.indeterminate = !isAll && selection.size > 0;
            }}
            onChange={() => onSelect(isAll ? new Set() : new Set(ids))}
          />
        </th>,
        t("run"),
        t("workflow"),
        t("state"),
        { "opt-3": t("tasks") },
        { num: t("started") },
        { "num took-head": t("took") },
        { "opt-2": t("trigger") },
        { "opt-4": t("owner") },
        t("why"),
      ]}
    >
      {runs.map((run) => {
        const done = progress.get(run.id);
        return (
          <tr
            key={run.id}
            data-row={run.id}
            aria-selected={selection.has(run.id)}
            data-at={at === run.id}
            onClick={(event) => !(event.target as HTMLElement).closest("a, button, input") && onGo(run.id)}
          >
            <td>
              <input
                type="checkbox"
                aria-label={t("select", { id: run.id })}
                checked={selection.has(run.id)}
                onChange={() => onSelect(toggled(selection, run.id))}
              />
            </td>
            <td className="id">
              <RunLink id={run.id} /> <CopyId id={run.id} />
            </td>
            <td className="name">
              {run.workflow ? (
                <WorkflowLink project={run.project ?? ""} name={run.workflow} />
              ) : (
                <span className="mute">{t("workflowGone")}</span>
              )}
            </td>
            <td className="of-state">
              <State state={run.state} />
            </td>
            <td className="opt-3 of-tasks">{done && <School states={schoolOf(done)} />}</td>
            <td className="num of-start">
              <Moment at={run.started_at} />
            </td>
            <td className="num of-took">
              <Took run={run} usualS={usual.get(run.workflow_code)} />
            </td>
            <td className="opt-2 soft">
              <TriggerOf run={run} />
            </td>
            <td className="opt-4 soft">{run.master_id ? (masters.get(run.master_id) ?? run.master) : ""}</td>
            <td className="wide soft of-why" title={run.reason ?? undefined}>
              {run.reason ?? <Going run={run} progress={done} />}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

/** What there is to say of a run without a reason: what its task reports, the time left, who took it over. */
function Going({ run, progress }: { run: Run; progress: Schemas["RunProgressAnswer"] | undefined }) {
  const { t } = useTranslation("runs");
  const report = progress?.reports[0];
  const left = progress?.left_s;
  const said = [
    report && `${report.task} ${reported(report.progress)}`,
    left != null && left >= 1 && t("left", { time: duration(Math.round(left)) }),
    run.takeovers > 0 && t("takenOver", { count: run.takeovers }),
  ];
  return <>{said.filter(Boolean).join(" · ")}</>;
}

function TriggerOf({ run }: { run: Run }) {
  const { t } = useTranslation("runs");
  const above = run.parent_id ?? run.started_by_id;
  if (above)
    return <RunLink id={above}>{t(run.parent_id || run.started_by_task ? "byRun" : "byEnd", { id: above })}</RunLink>;
  const word =
    run.command_type === "SCHEDULER" ? "SCHEDULE" : run.command_type === "COMPLEMENT_DATA" ? "BACKFILL" : "HAND";
  return (
    <>{run.run_times > 1 ? t("times", { what: t(`trigger.${word}`), times: run.run_times }) : t(`trigger.${word}`)}</>
  );
}

/** The median stands at this part of the bar, so that longer runs have room. */
const MEDIAN_AT = 0.6;
/** A run is marked as long from this many times the median on. */
const LONG = 1.5;

/** The time from the start of a run to its end, and a bar against the median of the same for its workflow. */
function Took({ run, usualS }: { run: Run; usualS: number | null | undefined }) {
  const { t } = useTranslation("runs");
  const isActive = ACTIVE.includes(run.state);
  const tookS = isActive ? (Date.now() - Date.parse(run.started_at)) / 1000 : run.elapsed_s;
  const share = usualS ? Math.min(1, (tookS / usualS) * MEDIAN_AT) : null;
  return (
    <span className="took">
      {isActive ? <Elapsed since={run.started_at} /> : duration(run.elapsed_s)}
      {share !== null && usualS ? (
        <span
          className="took-bar"
          data-long={tookS > LONG * usualS}
          title={t("median", { time: duration(usualS) })}
          role="img"
          aria-label={t("median", { time: duration(usualS) })}
        >
          <i style={{ width: `${share * 100}%` }} />
        </span>
      ) : (
        <span className="took-bar none" />
      )}
    </span>
  );
}

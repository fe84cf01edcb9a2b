import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type CSSProperties, Fragment } from "react";
import { useTranslation } from "react-i18next";
import { CopyId, RunLink, WorkflowLink } from "@/parts/Links";
import { School } from "@/parts/School";
import { styleOf } from "@/parts/State";
import { Moment, useNow } from "@/parts/Time";
import { count, duration } from "@/parts/time";
import { useRun } from "../context";
import { doneOf, ENDED, isFailed, statesOf } from "../model";
import { storyOf } from "../queries";
import { Actions } from "./Actions";

/** Of runs with so many tasks the story is read at once: it says who asked. */
export const STORY_TASKS_MAX = 300;
/** Of the runs that a run triggered the newest are named. */
const TRIGGERED_MAX = 8;
/** The owner of a run that nobody drives: in a line, or between two masters. */
const NOBODY = "0";

/** What run this is, how far it is, and who drives it. */
export function RunHeader() {
  const { t } = useTranslation("run");
  const { run, tasks } = useRun();
  const workflow = run.workflow ?? run.workflow_code;
  return (
    <header className="run-head">
      <nav className="crumb" aria-label={t("where")}>
        <Link to="/runs">{t("runs")}</Link> /{" "}
        {run.project && run.workflow ? <WorkflowLink project={run.project} name={run.workflow} /> : workflow} / {run.id}{" "}
        <CopyId id={run.id} />
      </nav>
      <div className="run-title">
        <h1>
          {workflow} <span className="mute">{run.id}</span>
        </h1>
        <span className="pill" data-s={styleOf(run.state)} title={run.state}>
          {t(`parts:state.${run.state}`)}
        </span>
        {run.ending_as && !ENDED.includes(run.state) && (
          <span className="mute">{t("cleansUp", { state: t(`parts:state.${run.ending_as}`) })}</span>
        )}
        <Chain />
        <Actions />
      </div>
      <div className="run-meta">
        <span className="line far" style={{ "--tasks": tasks.length } as CSSProperties}>
          <School states={statesOf(tasks)} />
          <b>{t("far", { done: count(doneOf(tasks)), total: count(tasks.length) })}</b>
        </span>
        <Times />
        <Trigger />
        <Triggered />
        <span className="opt">
          {run.project && run.workflow ? (
            <Link
              to="/workflows/$project/$name"
              params={{ project: run.project, name: run.workflow }}
              search={{ version: run.version }}
            >
              v{run.version}
            </Link>
          ) : (
            `v${run.version}`
          )}
        </span>
        <Owner />
        {run.command_id && (
          <span className="opt">
            {t("command")} <span className="mono">{run.command_id}</span>
          </span>
        )}
        {run.serial_key && (
          <span className="opt cut" title={run.serial_key}>
            {t("serialKey")}{" "}
            <Link to="/runs" search={{ workflow: workflow, serial_key: run.serial_key }}>
              {run.serial_key}
            </Link>
          </span>
        )}
        <span className="opt">
          {t("day")} <b>{run.schedule_time.slice(0, 10)}</b>
        </span>
      </div>
    </header>
  );
}

/** How long it took or takes, and what is left. */
function Times() {
  const { t } = useTranslation("run");
  const { run } = useRun();
  const isEnded = ENDED.includes(run.state);
  const now = useNow(!isEnded);
  const passed = isEnded ? 0 : Math.max(0, (now - run.read_at) / 1000);
  const left = run.left_s != null ? Math.max(0, run.left_s - passed) : null;
  return (
    <span>
      <b>{duration(run.elapsed_s + passed)}</b>
      {!isEnded && left !== null && t("left", { time: duration(left) })}
      {run.usual_s != null && <span className="mute opt"> {t("usually", { time: duration(run.usual_s) })}</span>}
    </span>
  );
}

/** What started it, and when. */
function Trigger() {
  const { t } = useTranslation("run");
  const { run, tasks } = useRun();
  const story = useQuery({ ...storyOf(run.id), enabled: tasks.length <= STORY_TASKS_MAX });
  const asked = story.data?.events.findLast((event) => event.kind === "ASKED" && event.by != null);
  const [above, task] = run.parent_id ? [run.parent_id, run.parent_task] : [run.started_by_id, run.started_by_task];
  return (
    <span className="opt">
      {above ? (
        <>
          {t(run.parent_id ? "partOf" : "startedBy")}{" "}
          <Link to="/runs/$id" params={{ id: above }} search={{ task: task ?? undefined }}>
            {task || run.parent_id ? `${above}/${task ?? ""}` : t("endOf", { id: above })}
          </Link>{" "}
        </>
      ) : (
        `${t(`trigger.${run.command_type}`, { defaultValue: run.command_type })} ${asked?.by ? t("by", { name: asked.by }) : ""} `
      )}
      <b>
        <Moment at={run.started_at} />
      </b>
    </span>
  );
}

/** The runs of other workflows that its end started. */
function Triggered() {
  const { t } = useTranslation("run");
  const { triggered = [] } = useRun().run;
  if (triggered.length === 0) return null;
  return (
    <span className="opt">
      {t("triggered")}{" "}
      {triggered.slice(-TRIGGERED_MAX).map(({ id, workflow }, place) => (
        <Fragment key={id}>
          {place > 0 && ", "}
          <RunLink id={id}>{t("child", { id, workflow: workflow ?? "" })}</RunLink>
        </Fragment>
      ))}
      {triggered.length > TRIGGERED_MAX && ` ${t("moreChildren", { count: triggered.length - TRIGGERED_MAX })}`}
    </span>
  );
}

/** The master that drives it, the slot it had when it took the run, and how often the run changed hands. */
function Owner() {
  const { t } = useTranslation("run");
  const { run, nodeName } = useRun();
  const hasOwner = run.master_id != null && run.master_id !== NOBODY;
  const [slot, total] = (run.slot_at_start ?? "").split("/");
  return (
    <span>
      {hasOwner ? t("owner") : t("noOwner")} <b>{hasOwner ? nodeName(run.master_id as string, run.master) : ""}</b>
      {total !== undefined && <span title={t("slotSays")}>{t("slot", { slot, total })}</span>}
      {run.takeovers > 0 && (
        <>
          {" · "}
          <Link to="." search={{ tab: "events" }}>
            {t("takenOver", { count: run.takeovers })}
          </Link>
        </>
      )}
    </span>
  );
}

/** Which execution of the run this is, and where the first failed. */
function Chain() {
  const { t } = useTranslation("run");
  const { run } = useRun();
  if (run.run_times <= 1) return null;
  const failed = run.tasks.find((attempt) => attempt.counts === false && isFailed(attempt.state));
  return (
    <span className="mute opt">
      {t("execution", { count: run.run_times, ordinal: true })}
      {failed !== undefined && (
        <>
          {"; "}
          <Link to="." search={{ tab: "logs", task: failed.name, attempt: failed.id }}>
            {t("failedOn", { task: failed.name })}
          </Link>
        </>
      )}
    </span>
  );
}

import { IconHelp } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { Answer } from "@/parts/Answer";
import { RunLink } from "@/parts/Links";
import { Panel } from "@/parts/Panel";
import { Sentence } from "@/parts/Sentence";
import { Mark } from "@/parts/State";
import { useNow } from "@/parts/Time";
import { count } from "@/parts/time";
import { useRun } from "../context";
import { Deed } from "../header/Deed";
import { runNewest } from "../header/newest";
import { asksSomebody, ENDED, isFailed, isPassed, passes, type TaskView } from "../model";
import { lineOf, whyOf } from "../queries";
import { inShort } from "../words";

const Question = lazy(async () => ({ default: (await import("./Question")).Question }));

const ALSO_MAX = 6;

/**
 * Why the task that is looked at waits, failed or is stuck, and what to do; what an approval asks; below it the others
 * that do not move.
 */
export function WhyPanel() {
  const { t } = useTranslation("run");
  const { run, tasks, focus, search } = useRun();
  const isEnded = ENDED.includes(run.state);
  // Of a run that waits in its line, no task says why it does not go on.
  const isOfRun = search.task === undefined && run.state === "SERIAL_WAIT";
  const task = focus !== null && !isOfRun && (search.task !== undefined || !isPassed(focus.state)) ? focus : null;
  const isAsked = task === null ? run.state !== "SUCCESS" : !isPassed(task.state);
  const asking = task !== null && asksSomebody(task) ? task.last : null;
  const why = useQuery({ ...whyOf(run.id, task?.name ?? null), enabled: isAsked && asking === null });
  const also = tasks.filter((each) => each !== task && isStuck(each, isEnded)).slice(0, ALSO_MAX);
  if (!isAsked && task === null) return null;
  return (
    <Panel
      title={
        <span className="line">
          <IconHelp size={16} stroke={1.5} aria-hidden /> {asking ? t("question") : isAsked ? t("why") : t("task")}
        </span>
      }
      remark={task?.name ?? t("theRun")}
      end={<span className="kbd">w</span>}
      className="why"
    >
      <div className="why-body" id="why" tabIndex={-1} aria-live="polite">
        {task !== null && <Earlier task={task} />}
        {asking ? (
          <Suspense fallback={null}>
            <Question key={asking.id} attempt={asking.id} />
          </Suspense>
        ) : isAsked ? (
          <Answer of={why} lines={3}>
            {(data) => (
              <>
                <h3>{data.why}</h3>
                <p>
                  <Sentence text={data.do} />
                </p>
              </>
            )}
          </Answer>
        ) : (
          task && <Done task={task} />
        )}
        {task === null && run.state === "SERIAL_WAIT" && <InLine id={run.id} />}
        {task !== null && <Deeds task={task} />}
        {task !== null && <Children task={task} />}
        {also.length > 0 && <Also tasks={also} />}
      </div>
    </Panel>
  );
}

function isStuck(task: TaskView, isEnded: boolean): boolean {
  return (
    isFailed(task.state) || (!isEnded && (asksSomebody(task) || ["DELAY_EXECUTION", "QUEUED"].includes(task.state)))
  );
}

/** How the approval ended that the address names, such as that of an old alert, if its task has begun anew since. */
function Earlier({ task }: { task: TaskView }) {
  const { t } = useTranslation("run");
  const { run, search } = useRun();
  const named = run.tasks.find((each) => each.id === search.attempt && each.type === "APPROVAL");
  if (named?.name !== task.name || named.id === task.last?.id) return null;
  const how = named.reason ?? t(`parts:state.${named.state}`);
  return <p className="earlier">{t("earlierAttempt", { number: named.attempt, how })}</p>;
}

/** What a task that went well did. */
function Done({ task }: { task: TaskView }) {
  const { t } = useTranslation("run");
  const { run, nodeName } = useRun();
  const { last } = task;
  const now = useNow(passes(task.state));
  const node = last?.worker_id ? nodeName(last.worker_id, last.worker) : "";
  return (
    <>
      <h3>
        <Mark state={task.state} /> {t(`parts:state.${task.state}`)}
      </h3>
      <p>{inShort(task, t, node, run.read_at, now)}</p>
      {last?.type === "APPROVAL" && <p>{last.reason}</p>}
      {last?.stands_for && <p>{last.stands_for}</p>}
    </>
  );
}

const BEFORE_MAX = 8;

/** In which line a run waits, at which place, and what is before it. */
function InLine({ id }: { id: string }) {
  const { t } = useTranslation("run");
  const line = useQuery(lineOf(id));
  if (line.data === undefined) return null;
  const { serial_key: key, max_active: atOnce, place, before, older_command_id: older } = line.data;
  const shown = before?.slice(0, BEFORE_MAX) ?? [];
  return (
    <>
      <p>
        {key ? t("lineOfKey", { key }) : t("lineOfAll")}{" "}
        {atOnce && atOnce > 1 ? t("atOnce", { number: count(atOnce) }) : ""}{" "}
        {place ? t("place", { place: count(place) }) : ""}
      </p>
      <ul className="also">
        {shown.map((each) => (
          <li key={each.id}>
            <Mark state={each.state} />
            <RunLink id={each.id} />
          </li>
        ))}
        {older && <li>{t("olderCommand", { id: older })}</li>}
      </ul>
    </>
  );
}

/** The likely next steps for a task, the likeliest first. */
function Deeds({ task }: { task: TaskView }) {
  const { t } = useTranslation("run");
  const { run, whyNot, change, go } = useRun();
  const { last } = task;
  const { newer } = run;
  return (
    <div className="line deeds">
      {isFailed(task.state) && (
        <>
          {newer && (
            <Deed
              size="xs"
              isMain={whyNot.rerun === null}
              whyNot={whyNot.rerun}
              onClick={() => change({ do: "rerun", what: { newest: true } })}
              word={runNewest(t, newer)}
            />
          )}
          <Deed
            size="xs"
            isMain={whyNot.rerun === null && !newer}
            whyNot={whyNot.rerun}
            onClick={() => change({ do: "rerun", what: { tasks: [task.name], depend: "TASK_POST" } })}
            word={newer ? t("rerunOldFromHere", { version: run.version }) : t("rerunFromHere")}
          />
          <Deed
            size="xs"
            whyNot={whyNot.rerun}
            onClick={() => last && change({ do: "mark", attempt: last.id })}
            word={t("mark")}
          />
        </>
      )}
      {last !== null && last.type !== "APPROVAL" && (
        <Deed size="xs" whyNot={null} onClick={() => go({ tab: "logs", task: task.name })} word={t("openLog")} />
      )}
      {task.state === "QUEUED" && <Link to="/cluster">{t("toGroups")}</Link>}
      {run.project && run.workflow && (isFailed(task.state) || task.state === "DELAY_EXECUTION") && (
        <Link
          to="/workflows/$project/$name"
          params={{ project: run.project, name: run.workflow }}
          search={{ select: [`task:${task.name}`] }}
        >
          {t("openDefinition")}
        </Link>
      )}
    </div>
  );
}

const CHILDREN_MAX = 8;

/** The runs that a task stands for. */
function Children({ task }: { task: TaskView }) {
  const { t } = useTranslation("run");
  const { run } = useRun();
  const own = run.children.filter((child) => child.task_code === task.last?.code);
  if (own.length === 0) return null;
  return (
    <ul className="also">
      {own.slice(-CHILDREN_MAX).map((child) => (
        <li key={child.id}>
          <Mark state={child.state} />
          <RunLink id={child.id}>{t("child", { workflow: child.workflow ?? "", id: child.id })}</RunLink>
        </li>
      ))}
      {own.length > CHILDREN_MAX && <li className="mute">{t("moreChildren", { count: own.length - CHILDREN_MAX })}</li>}
    </ul>
  );
}

function Also({ tasks }: { tasks: TaskView[] }) {
  const { t } = useTranslation("run");
  const { run, go, nodeName } = useRun();
  const now = useNow();
  return (
    <ul className="also">
      {tasks.map((task) => (
        <li key={task.name}>
          <Mark state={task.state} />
          <span>
            <button type="button" className="as-link" onClick={() => go({ task: task.name })}>
              {task.name}
            </button>{" "}
            {inShort(
              task,
              t,
              task.last?.worker_id ? nodeName(task.last.worker_id, task.last.worker) : "",
              run.read_at,
              now,
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

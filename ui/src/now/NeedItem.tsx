import {
  IconAlignLeft,
  IconMessage,
  IconQuestionMark,
  IconRotateClockwise,
  IconTool,
  IconTrash,
} from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { useDone } from "@/forms/useDone";
import { useFilters } from "@/lists/filters";
import { useMay } from "@/login/rights";
import { Act, RowAct } from "@/parts/Act";
import { LinkAct } from "@/parts/LinkAct";
import { RunLink } from "@/parts/Links";
import { sayFailure } from "@/parts/notices";
import { Mark } from "@/parts/State";
import { SureAct } from "@/parts/SureAct";
import { Ago, Moment } from "@/parts/Time";
import { duration } from "@/parts/time";
import type { Need } from "./needs";
import type { Asked, FailedRun, LateRun, LateSchedule, Refused } from "./queries";

/** One thing that needs a person. */
export function NeedItem({ need }: { need: Need }) {
  if (need.kind === "failed") return <Failed run={need.of} />;
  if (need.kind === "lateRun") return <Late run={need.of} />;
  if (need.kind === "lateSchedule") return <Missed schedule={need.of} />;
  if (need.kind === "asked") return <Question asked={need.of} />;
  return <RefusedCommand command={need.of} />;
}

interface FrameProps {
  state: string;
  name: ReactNode;
  what: string;
  at: string | null;
  why?: string | null | undefined;
  isOutput?: boolean;
  remark?: ReactNode;
  children: ReactNode;
}

function Frame({ state, name, what, at, why, isOutput = false, remark, children }: FrameProps) {
  return (
    <li>
      <Mark state={state} />
      <div className="need-head">
        <span>
          <b>{name}</b> {what}
        </span>
        {at !== null && (
          <span className="mute">
            <Ago at={at} />
          </span>
        )}
      </div>
      {why && <p className={isOutput ? "output" : "soft"}>{why}</p>}
      <div className="line wrap">
        {children}
        {remark && <span className="mute remark">{remark}</span>}
      </div>
    </li>
  );
}

function WhyButton({ run, task }: { run: string; task?: string | null | undefined }) {
  const { t } = useTranslation("now");
  const { place } = useFilters();
  return (
    <RowAct
      leftSection={<IconQuestionMark size={14} stroke={1.5} />}
      onClick={() => place({ why: run, task: task ?? undefined })}
      word={t("why")}
    />
  );
}

function Failed({ run }: { run: FailedRun }) {
  const { t } = useTranslation("now");
  const done = useDone("needs");
  const whyNot = useMay("OPERATOR", run.project ?? null) ? null : t("mayNotOperate");
  const rerun = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/workflow-instances/{id}/rerun", {
        params: { path: { id: run.id } },
        body: { failed: true, tasks: [], newest: false },
      }),
    onSuccess: () => done(t("rerunAsked", { run: run.id, name: run.workflow }), run.id),
    onError: sayFailure,
  });
  return (
    <Frame
      state="FAILURE"
      name={<RunLink id={run.id}>{run.workflow}</RunLink>}
      what={run.task ? t("taskFailed", { task: run.task }) : t("failed")}
      at={run.ended_at}
      why={run.task_reason ?? run.reason}
      isOutput={run.task_reason !== undefined && run.task_reason !== null}
      remark={[
        run.times_this_week > 1 ? t("times", { count: run.times_this_week, ordinal: true }) : "",
        run.newest_version > run.version ? t("keepsVersion", { version: run.version, newest: run.newest_version }) : "",
      ]
        .filter(Boolean)
        .join(" ")}
    >
      <Act
        size="compact-sm"
        leftSection={<IconRotateClockwise size={14} stroke={1.5} />}
        why={whyNot}
        loading={rerun.isPending}
        onClick={() => rerun.mutate()}
        word={t("rerunFromHere")}
      />
      <WhyButton run={run.id} task={run.task} />
      {run.task && (
        <LinkAct
          to="/runs/$id"
          params={{ id: run.id }}
          search={{ tab: "logs", task: run.task }}
          leftSection={<IconAlignLeft size={14} stroke={1.5} />}
          word={t("log")}
        />
      )}
      {whyNot && <span className="mute">{whyNot}</span>}
    </Frame>
  );
}

function Late({ run }: { run: LateRun }) {
  const { t } = useTranslation("now");
  return (
    <Frame
      state="LATE"
      name={<RunLink id={run.id}>{run.workflow}</RunLink>}
      what={t("later", { time: duration(run.late_s) })}
      at={run.started_at}
      why={t("usually", { elapsed: duration(run.elapsed_s), usual: duration(run.usual_s) })}
    >
      <WhyButton run={run.id} />
    </Frame>
  );
}

function Missed({ schedule }: { schedule: LateSchedule }) {
  const { t } = useTranslation("now");
  return (
    <Frame
      state="LATE"
      name={schedule.workflow ?? schedule.workflow_code}
      what={t("missed")}
      at={schedule.due_at ?? null}
      why={schedule.reason}
    >
      <LinkAct to="/schedules" search={{ row: schedule.id }} word={t("openSchedule")} />
    </Frame>
  );
}

function Question({ asked }: { asked: Asked }) {
  const { t } = useTranslation("now");
  const { task, run_id: run, task_instance_id: attempt } = asked;
  return (
    <Frame
      state="ASKS"
      name={<RunLink id={run}>{asked.workflow ?? asked.workflow_code}</RunLink>}
      what={t("asks", { task, who: asked.answerers })}
      at={asked.since}
      why={asked.fault ?? asked.text}
      remark={
        asked.due_at != null && (
          <>
            {t(`until.${asked.on_timeout}`)} <Moment at={asked.due_at} />
          </>
        )
      }
    >
      <LinkAct
        to="/runs/$id"
        params={{ id: run }}
        search={{ task, attempt }}
        variant={asked.may_answer ? "filled" : "default"}
        leftSection={<IconMessage size={14} stroke={1.5} />}
        word={t(asked.may_answer ? "answer" : "look")}
      />
      {!asked.may_answer && <span className="mute">{t("mayNotAnswer")}</span>}
    </Frame>
  );
}

function RefusedCommand({ command }: { command: Refused }) {
  const { t } = useTranslation("now");
  const done = useDone("error-commands");
  const whyNot = useMay("OPERATOR", command.project ?? null) ? null : t("mayNotOperate");
  const drop = useMutation({
    mutationFn: () => api.DELETE("/api/v1/error-commands/{id}", { params: { path: { id: command.id } } }),
    onSuccess: () => done(t("dropped", { id: command.id })),
    onError: sayFailure,
  });
  return (
    <Frame
      state="REFUSED"
      name={t("command", { id: command.id })}
      what={t("wasRefused", { type: command.type })}
      at={command.refused_at}
      why={command.reason}
    >
      <LinkAct
        to="/queue"
        search={{ tab: "errors", row: command.id }}
        leftSection={<IconTool size={14} stroke={1.5} />}
        word={t("fixAndRetry")}
      />
      <SureAct
        size="compact-sm"
        variant="default"
        leftSection={<IconTrash size={14} stroke={1.5} />}
        why={whyNot}
        loading={drop.isPending}
        onClick={() => drop.mutate()}
        word={t("drop")}
        sure={t("dropSure")}
      />
      {whyNot && <span className="mute">{whyNot}</span>}
    </Frame>
  );
}

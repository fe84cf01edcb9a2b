import { ActionIcon } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { ROOT } from "@/api/client";
import { bytes } from "@/cluster/bytes";
import { Empty } from "@/parts/Answer";
import { Facts } from "@/parts/Facts";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { exactMoment } from "@/parts/time";
import { useRun } from "../context";
import { valuesOf } from "../model";
import { type Attempt, specOf, valuesSeenBy } from "../queries";
import { handedOf } from "./handed";
import { unfoldedOf } from "./unfolded";

const TASKS_MAX = 500;

const between = (start: string, end: string, language: string) =>
  `${exactMoment(start, language)} – ${exactMoment(end, language)}`;

/** With which values the run began, what the workflow says, and what its tasks returned. */
export function ParametersTab() {
  const { t, i18n } = useTranslation("run");
  const { run, tasks, focus } = useRun();
  const spec = useQuery({ ...specOf(run.workflow_code, run.version), enabled: run.workflow != null });
  const given = valuesOf(run.params);
  const said = spec.data?.spec.params ?? {};
  const secrets = spec.data?.spec.secrets ?? [];
  const names = [...new Set([...Object.keys(said), ...Object.keys(given)])].sort();
  const outputs = tasks
    .filter((task) => task.last?.outputs)
    .slice(0, TASKS_MAX)
    .flatMap((task) =>
      Object.entries(valuesOf(task.last?.outputs)).map(([name, value]) => ({ ...task, name, value, task: task.name })),
    );
  const facts: [string, string][] = [
    [t("scheduleTime"), exactMoment(run.schedule_time, i18n.language)],
    ...(run.interval_start != null && run.interval_end != null
      ? [[t("interval"), between(run.interval_start, run.interval_end, i18n.language)] as [string, string]]
      : []),
    [t("timeZone"), run.time_zone],
    [t("priority"), run.priority],
    ...(run.dates_left != null ? [[t("datesLeft"), String(run.dates_left)] as [string, string]] : []),
  ];
  return (
    <div className="parameters">
      <Panel title={t("ofTheRun")} remark={names.length}>
        {names.length === 0 ? (
          <Empty title={t("noParams")}>{t("noParamsSays")}</Empty>
        ) : (
          <Table heads={[t("paramName"), t("value"), t("inWorkflow")]}>
            {names.map((name) => (
              <tr key={name}>
                <td>
                  <b>{name}</b>
                </td>
                <td className="mono">
                  {secrets.includes(name) ? t("secret") : <Value of={given[name] ?? t("asInWorkflow")} />}
                </td>
                <td className="mono mute">{secrets.includes(name) ? t("secret") : (said[name] ?? t("notThere"))}</td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
      <Panel title={t("returned")} remark={outputs.length}>
        {outputs.length === 0 ? (
          <Empty title={t("noOutputs")}>{t("noOutputsSays")}</Empty>
        ) : (
          <Table heads={[t("task"), t("paramName"), t("value")]}>
            {outputs.map((each) => (
              <tr key={`${each.task}/${each.name}`}>
                <td>{each.task}</td>
                <td>
                  <b>{each.name}</b>{" "}
                  {each.last != null && <Download attempt={each.last} name={each.name} value={each.value} />}
                </td>
                <td className="mono wide">
                  <Value of={each.value} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
      {focus?.last != null && <Seen attempt={focus.last} />}
      <Panel title={t("when")}>
        <Facts className="run-facts" of={facts} />
      </Panel>
    </div>
  );
}

/** What each parameter stands for in an attempt of the chosen task. */
function Seen({ attempt }: { attempt: Attempt }) {
  const { t } = useTranslation("run");
  const seen = Object.entries(valuesOf(useQuery(valuesSeenBy(attempt.id)).data?.values)).sort();
  return (
    <Panel title={t("seenBy", { task: attempt.name, attempt: attempt.attempt })} remark={seen.length}>
      {seen.length === 0 ? (
        <Empty title={t("noneSeen")}>{t("noneSeenSays")}</Empty>
      ) : (
        <Table heads={[t("paramName"), t("value")]}>
          {seen.map(([name, value]) => (
            <tr key={name}>
              <td>
                <b>{name}</b>
              </td>
              <td className="mono wide">
                <Value of={value} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

/** Saves a value that an attempt gave as a file, however large it is, or a file that it handed on under its own name. */
function Download({ attempt, name, value }: { attempt: Attempt; name: string; value: string }) {
  const { t } = useTranslation("run");
  const word = t("downloadValue", { name });
  return (
    <ActionIcon
      component="a"
      variant="subtle"
      color="gray"
      aria-label={word}
      title={word}
      href={`${ROOT}api/v1/task-instances/${attempt.id}/value?name=${encodeURIComponent(name)}`}
      download={handedOf(value)?.name ?? `${attempt.name}-${attempt.id}-${name}`}
    >
      <IconDownload size={14} stroke={1.5} aria-hidden />
    </ActionIcon>
  );
}

/** What stands for a value that the log store has. */
const LARGE = /^shoal-value:v1:[^:]*:(\d+):/;

/** A value; one that is a JSON object or list unfolds to a line for each of its parts. */
function Value({ of }: { of: string }) {
  const { t } = useTranslation("run");
  const size = LARGE.exec(of)?.[1];
  if (size !== undefined) return <span className="mute">{t("largeValue", { size: bytes(Number(size)) })}</span>;
  const file = handedOf(of);
  if (file !== null)
    return (
      <span title={of}>
        {file.name} <span className="mute">{t("largeValue", { size: bytes(file.size) })}</span>
      </span>
    );
  const unfolded = unfoldedOf(of);
  if (unfolded === null) return <span title={of}>{of}</span>;
  return (
    <details className="json">
      <summary>{of}</summary>
      <pre>{unfolded}</pre>
    </details>
  );
}

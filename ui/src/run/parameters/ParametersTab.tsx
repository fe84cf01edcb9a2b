import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Empty } from "@/parts/Answer";
import { Facts } from "@/parts/Facts";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { exactMoment } from "@/parts/time";
import { useRun } from "../context";
import { valuesOf } from "../model";
import { specOf } from "../queries";
import { unfoldedOf } from "./unfolded";

const TASKS_MAX = 500;

const between = (start: string, end: string, language: string) =>
  `${exactMoment(start, language)} – ${exactMoment(end, language)}`;

/** With which values the run began, what the workflow says, and what its tasks returned. */
export function ParametersTab() {
  const { t, i18n } = useTranslation("run");
  const { run, tasks } = useRun();
  const spec = useQuery({ ...specOf(run.workflow_code, run.version), enabled: run.workflow != null });
  const given = valuesOf(run.params);
  const said = spec.data?.spec.params ?? {};
  const secrets = spec.data?.spec.secrets ?? [];
  const names = [...new Set([...Object.keys(said), ...Object.keys(given)])].sort();
  const outputs = tasks
    .filter((task) => task.last?.outputs)
    .slice(0, TASKS_MAX)
    .flatMap((task) =>
      Object.entries(valuesOf(task.last?.outputs)).map(([name, value]) => ({ task: task.name, name, value })),
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
                  <b>{each.name}</b>
                </td>
                <td className="mono wide">
                  <Value of={each.value} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
      <Panel title={t("when")}>
        <Facts className="run-facts" of={facts} />
      </Panel>
    </div>
  );
}

/** A value; one that is a JSON object or list unfolds to a line for each of its parts. */
function Value({ of }: { of: string }) {
  const unfolded = unfoldedOf(of);
  if (unfolded === null) return <span title={of}>{of}</span>;
  return (
    <details className="json">
      <summary>{of}</summary>
      <pre>{unfolded}</pre>
    </details>
  );
}

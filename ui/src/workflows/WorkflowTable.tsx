import { Checkbox } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Act } from "@/parts/Act";
import { cronWords } from "@/parts/cronWords";
import { LastRuns } from "@/parts/LastRuns";
import { WorkflowLink } from "@/parts/Links";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { duration } from "@/parts/time";
import { askToRun } from "@/start/asking";
import { useNoRun } from "@/start/useNoRun";
import type { Schedule, Workflow } from "./queries";

type Bars = Schemas["RunsOfWorkflow"];
type Draft = Schemas["DraftAnswer"];

interface Props {
  items: Workflow[];
  /** Drafts of workflows that do not exist yet. */
  unpublished: Draft[];
  /** `project/name` of the workflows of which the caller has a draft. */
  drafts: ReadonlySet<string>;
  bars: Map<string, Bars>;
  schedules: Schedule[];
  hasProject: boolean;
  selected: ReadonlyMap<string, Workflow>;
  onSelect: (selected: ReadonlyMap<string, Workflow>) => void;
}

/** A row for each workflow. */
export function WorkflowTable(props: Props) {
  const { items, unpublished, drafts, bars, schedules, hasProject, selected, onSelect } = props;
  const { t } = useTranslation("workflows");
  const toggle = (workflow: Workflow) => {
    const next = new Map(selected);
    if (!next.delete(workflow.code)) next.set(workflow.code, workflow);
    onSelect(next);
  };
  const isAll = items.length > 0 && items.every((each) => selected.has(each.code));
  const byWorkflow = Map.groupBy(schedules, (each) => each.workflow_code);
  return (
    <Table
      className="workflows"
      heads={[
        <th key="select" className="check">
          <Checkbox
            size="xs"
            radius="xs"
            aria-label={t("selectAll")}
            checked={isAll}
            indeterminate={!isAll && selected.size > 0}
            onChange={() => onSelect(isAll ? new Map() : new Map(items.map((each) => [each.code, each])))}
          />
        </th>,
        t("name"),
        hasProject && t("project"),
        t("lastRuns"),
        { num: t("usually") },
        t("schedule"),
        { num: t("next") },
        { num: t("version") },
        t("savedBy"),
      ]}
    >
      {unpublished.map((draft) => (
        <tr key={`${draft.project}/${draft.name}`}>
          <td className="check" />
          <td>
            <WorkflowLink project={draft.project} name={draft.name} className="strong" />{" "}
            <span className="tag draft">{t("newDraft")}</span>
          </td>
          {hasProject && <td className="soft">{draft.project}</td>}
          <td colSpan={4} className="mute">
            {t("notPublished")}
          </td>
          <td className="num mute">–</td>
          <td />
        </tr>
      ))}
      {items.map((workflow) => {
        const own = bars.get(workflow.code);
        return (
          <tr key={workflow.code} aria-selected={selected.has(workflow.code)}>
            <td className="check">
              <Checkbox
                size="xs"
                radius="xs"
                aria-label={t("select", { name: workflow.name })}
                checked={selected.has(workflow.code)}
                onChange={() => toggle(workflow)}
              />
            </td>
            <td>
              <WorkflowLink project={workflow.project} name={workflow.name} className="strong" />{" "}
              {workflow.release_state === "OFFLINE" && <span className="tag">{t("offline")}</span>}{" "}
              {drafts.has(`${workflow.project}/${workflow.name}`) && <span className="tag draft">{t("draft")}</span>}{" "}
              {workflow.tags?.map((tag) => (
                <Fragment key={tag}>
                  <Link
                    to="."
                    search={(before: Record<string, unknown>) => ({ ...before, tag })}
                    className="tag"
                    title={t("withTag", { tag })}
                  >
                    {tag}
                  </Link>{" "}
                </Fragment>
              ))}
            </td>
            {hasProject && <td className="soft">{workflow.project}</td>}
            <td className="bars">
              {own !== undefined &&
                (own.runs.length > 0 ? <LastRuns runs={own.runs} /> : <span className="mute">{t("neverRan")}</span>)}
            </td>
            <td className="num">{own?.usual_s != null && duration(own.usual_s)}</td>
            <Times schedules={byWorkflow.get(workflow.code) ?? []} />
            <td className="num">
              <Link
                to="/workflows/$project/$name"
                params={{ project: workflow.project, name: workflow.name }}
                search={{ tab: "versions" }}
              >
                {workflow.version}
              </Link>
            </td>
            <td className="soft">
              {workflow.saved_by} {workflow.saved_at != null && <Moment at={workflow.saved_at} />}
              <RunIt workflow={workflow} />
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

/** Starts a workflow; in its row where the pointer or the focus is. */
function RunIt({ workflow: { code, name, project, release_state } }: { workflow: Workflow }) {
  const { t } = useTranslation("start");
  return (
    <Act
      size="compact-xs"
      variant="default"
      className="on-hover run-it"
      aria-label={t("runName", { name })}
      leftSection={<IconPlayerPlay size={12} aria-hidden />}
      why={useNoRun(project, release_state)}
      onClick={() => askToRun({ code, name })}
    >
      {t("run")}
    </Act>
  );
}

/** When a workflow starts, in words, and the next time of all its schedules. */
function Times({ schedules }: { schedules: Schedule[] }) {
  const { t, i18n } = useTranslation("workflows");
  const on = schedules.filter((each) => each.state === "ONLINE");
  const [first] = on.length > 0 ? on : schedules;
  const next = on.flatMap((each) => each.next_fire_at ?? []).sort()[0];
  if (first === undefined)
    return (
      <>
        <td className="mute">{t("byHand")}</td>
        <td />
      </>
    );
  return (
    <>
      <td title={`${first.crontab} ${first.time_zone}`}>
        {cronWords(first.crontab, i18n.language)} <span className="mute">{first.time_zone}</span>
        {schedules.length > 1 && <span className="mute"> {t("andMore", { count: schedules.length - 1 })}</span>}{" "}
        {on.length === 0 && <span className="tag">{t("scheduleOff")}</span>}
      </td>
      <td className="num">{next !== undefined && <Moment at={next} />}</td>
    </>
  );
}

import { Checkbox } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { useOrder } from "@/lists/order";
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
import { StarIt } from "./StarIt";

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
  /** Whether these are all, and not the first page of them. */
  isWhole: boolean;
  hasProject: boolean;
  selected: ReadonlyMap<string, Workflow>;
  onSelect: (selected: ReadonlyMap<string, Workflow>) => void;
}

/** A row for each workflow. */
export function WorkflowTable(props: Props) {
  const { items, unpublished, drafts, bars, schedules, isWhole, hasProject, selected, onSelect } = props;
  const { t } = useTranslation("workflows");
  const toggle = (workflow: Workflow) => {
    const next = new Map(selected);
    if (!next.delete(workflow.code)) next.set(workflow.code, workflow);
    onSelect(next);
  };
  const isAll = items.length > 0 && items.every((each) => selected.has(each.code));
  const byWorkflow = Map.groupBy(schedules, (each) => each.workflow_code);
  const [order, sorted] = useOrder(items, {
    name: (each) => each.name,
    project: (each) => each.project,
    usually: (each) => bars.get(each.code)?.usual_s,
    next: (each) => nextOf(byWorkflow.get(each.code) ?? []),
    version: (each) => each.version,
    saved: (each) => each.saved_at,
  });
  return (
    <Table
      className="workflows"
      chosenAs="workflows"
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
        { by: "name", head: t("name") },
        hasProject && { by: "project", head: t("project") },
        t("lastRuns"),
        { by: "usually", head: { num: t("usually") } },
        t("schedule"),
        { by: "next", head: { num: t("next") } },
        { by: "version", head: { num: t("version") } },
        { by: "saved", head: t("savedBy") },
      ]}
      order={isWhole ? order : undefined}
    >
      {unpublished.map((draft) => (
        <tr key={`${draft.project}/${draft.name}`}>
          <td className="check" />
          <td>
            <WorkflowLink project={draft.project} name={draft.name} className="strong" />{" "}
            <span className="tag draft">{t("newDraft")}</span>
          </td>
          {hasProject && <td className="soft">{draft.project}</td>}
          <td className="mute">{t("notPublished")}</td>
          <td />
          <td />
          <td />
          <td className="num mute">–</td>
          <td />
        </tr>
      ))}
      {(isWhole ? sorted : items).map((workflow) => {
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
              <WorkflowLink project={workflow.project} name={workflow.name} className="strong" />
              <StarIt workflow={workflow} />{" "}
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
            <td className="of-bars">
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
      word={t("run")}
    />
  );
}

const isOn = (schedule: Schedule) => schedule.state === "ONLINE";

/** The next time of all schedules of a workflow. */
function nextOf(schedules: Schedule[]): string | undefined {
  return schedules
    .filter(isOn)
    .flatMap((each) => each.next_fire_at ?? [])
    .sort()[0];
}

/** When a workflow starts, in words, and the next time of all its schedules. */
function Times({ schedules }: { schedules: Schedule[] }) {
  const { t, i18n } = useTranslation("workflows");
  const on = schedules.filter(isOn);
  const [first] = on.length > 0 ? on : schedules;
  const next = nextOf(schedules);
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

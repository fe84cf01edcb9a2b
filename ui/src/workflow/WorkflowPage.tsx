import { useParams } from "@tanstack/react-router";
import { useEffect, useLayoutEffect } from "react";
import { useTranslation } from "react-i18next";
import { useEditing } from "@/editor/useEditing";
import { prepareArranging } from "@/graph/arranged";
import { useTopics } from "@/live/eventSource";
import { useMay } from "@/login/rights";
import { Answer } from "@/parts/Answer";
import { GraphTab } from "./GraphTab";
import { RunsTab } from "./RunsTab";
import { ScheduleTab } from "./ScheduleTab";
import { SettingsTab } from "./SettingsTab";
import { useWorkflowSearch } from "./search";
import { useDraft } from "./useDraft";
import { VersionsTab } from "./VersionsTab";
import { WorkflowHead } from "./WorkflowHead";
import "./workflow.css";

/** One workflow: its graph, which is its editor, its runs, schedules, versions and settings. */
export function WorkflowPage() {
  const { project = "", name = "" } = useParams({ strict: false });
  return <Workflow key={`${project}/${name}`} project={project} name={name} />;
}

function Workflow({ project, name }: { project: string; name: string }) {
  const { t } = useTranslation("workflow");
  const { search } = useWorkflowSearch();
  useTopics("definitions", "runs");
  const editing = useEditing();
  const draft = useDraft(project, name, editing);
  const mayEdit = useMay("EDITOR", project);
  const tab = search.tab ?? "graph";
  useEffect(prepareArranging, []);
  // Not by :has() in the style: that costs the whole page on every change of any of its elements.
  useLayoutEffect(() => {
    if (tab !== "graph") return;
    document.documentElement.dataset.rail = "folded";
    return () => {
      delete document.documentElement.dataset.rail;
    };
  }, [tab]);
  const notYet = <p className="pad mute">{t("notYet")}</p>;
  return (
    <div className="page workflow-page" data-tab={tab}>
      <WorkflowHead project={project} name={name} tab={tab} editing={editing} draft={draft} mayEdit={mayEdit} />
      <Answer of={draft.source} lines={10} isTyped={draft.isDirty}>
        {({ head }) => (
          <>
            {tab === "graph" && <GraphTab editing={editing} draft={draft} mayEdit={mayEdit} project={project} />}
            {tab === "runs" && (head === null ? notYet : <RunsTab project={project} name={name} />)}
            {tab === "schedule" && (head === null ? notYet : <ScheduleTab of={head} />)}
            {tab === "versions" && (head === null ? notYet : <VersionsTab head={head} />)}
            {tab === "settings" && <SettingsTab project={project} editing={editing} head={head} mayEdit={mayEdit} />}
          </>
        )}
      </Answer>
    </div>
  );
}

import { TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match, ROOT, type Schemas } from "@/api/client";
import { changedWorkflow, type Head } from "@/editor/queries";
import type { Editing } from "@/editor/useEditing";
import { WorkflowFields } from "@/editor/WorkflowFields";
import { FormDialog } from "@/forms/FormDialog";
import { useMay } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { RunLink, WorkflowLink } from "@/parts/Links";
import { say, sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { saveFile } from "@/parts/saveFile";
import { MoveWorkflow } from "@/workflows/MoveWorkflow";
import { NewWorkflow } from "@/workflows/NewWorkflow";
import { relationsOf } from "./queries";

interface Props {
  project: string;
  editing: Editing;
  head: Head | null;
  mayEdit: boolean;
}

/** Fields of the workflow itself (part of its next version), whether it can be started, its relations, and its end. */
export function SettingsTab({ project, editing, head, mayEdit }: Props) {
  const { t } = useTranslation("workflow");
  return (
    <div className="tab settings">
      <Panel title={t("fields")} remark={t("fieldsRemark")} className="settings-form">
        {editing.graph !== null && <WorkflowFields graph={editing.graph} editing={editing} isFixed={!mayEdit} />}
      </Panel>
      {head !== null && (
        <div className="settings-side">
          <ReleasePanel head={head} editing={editing} />
          <RelationsPanel code={head.code} hasWebhook={hasWebhook(editing.graph?.fields.triggers)} />
          <EndPanel head={head} project={project} />
        </div>
      )}
    </div>
  );
}

function ReleasePanel({ head, editing }: { head: Head; editing: Editing }) {
  const { t } = useTranslation("workflow");
  const mayEdit = useMay("EDITOR", head.project);
  const whyNot = mayEdit ? null : t("editRole", { project: head.project });
  const isOn = head.release_state === "ONLINE";
  const [asking, setAsking] = useState<"copy" | "move" | null>(null);
  const set = useMutation({
    mutationFn: () =>
      api.PUT("/api/v1/workflow-definitions/{code}/release-state", {
        params: { path: { code: head.code }, header: match(head.version) },
        body: { release_state: isOn ? "OFFLINE" : "ONLINE" },
      }),
    onSuccess: () => {
      changedWorkflow();
      say(t(isOn ? "takenBack" : "released"));
    },
    onError: (error) => sayFailure(error),
  });
  return (
    <Panel title={t("release")}>
      <div className="pad stack">
        <p>{t(isOn ? "isOnline" : "isOffline")}</p>
        <div className="line">
          <Act
            variant="default"
            loading={set.isPending}
            why={whyNot}
            onClick={() => set.mutate()}
            word={t(isOn ? "takeBack" : "goOnline")}
          />
          <Act variant="default" onClick={() => saveFile(`${head.name}.yaml`, editing.text)} word={t("exportYaml")} />
          <Act variant="default" onClick={() => setAsking("copy")} word={t("copy")} />
          <Act variant="default" why={whyNot} onClick={() => setAsking("move")} word={t("moveDots")} />
        </div>
        {asking === "copy" && <NewWorkflow project={undefined} of={head} onClose={() => setAsking(null)} />}
        {asking === "move" && <MoveWorkflow of={head} onClose={() => setAsking(null)} />}
      </div>
    </Panel>
  );
}

const KINDS = ["starts", "started_by", "waits_for", "feeds"] as const;

function hasWebhook(triggers: unknown): boolean {
  return Array.isArray(triggers) && triggers.some((each) => typeof each?.webhook === "string");
}

function RelationsPanel({ code, hasWebhook }: { code: string; hasWebhook: boolean }) {
  const { t } = useTranslation("workflow");
  const found = useQuery(relationsOf(code));
  const other = (kind: (typeof KINDS)[number], each: Schemas["RelationAnswer"]) =>
    kind === "starts" || kind === "waits_for" ? each.refers_to : each.workflow;
  return (
    <Panel title={t("relations")} end={<Link to="/relations">{t("allRelations")}</Link>}>
      <Answer of={found}>
        {(relations) => (
          <dl className="pad facts">
            {KINDS.map((kind) => (
              <div key={kind}>
                <dt>{t(`relation.${kind}`)}</dt>
                <dd>
                  {relations[kind].length === 0 && <span className="mute">{t("none")}</span>}
                  {relations[kind].map((each) => {
                    const { project, name } = other(kind, each);
                    return <WorkflowLink key={`${each.task} ${name}`} project={project} name={name} />;
                  })}
                </dd>
              </div>
            ))}
            {relations.dataset_waits.map((wait) => (
              <div key={`${wait.project} ${wait.datasets.join(" ")}`}>
                <dt>{t("relation.datasets")}</dt>
                <dd>
                  {wait.datasets.map((dataset) => {
                    const update = wait.updates.find((each) => each.dataset === dataset);
                    return (
                      <span key={dataset}>
                        {dataset} {update ? <RunLink id={update.run}>{t("updated")}</RunLink> : t("missing")}
                      </span>
                    );
                  })}
                </dd>
              </div>
            ))}
            {hasWebhook && (
              <div>
                <dt>{t("relation.webhook")}</dt>
                <dd>
                  <code>{`POST ${window.location.origin}${ROOT}api/v1/workflow-definitions/${code}/webhook`}</code>
                </dd>
              </div>
            )}
          </dl>
        )}
      </Answer>
    </Panel>
  );
}

function EndPanel({ head, project }: { head: Head; project: string }) {
  const { t } = useTranslation("workflow");
  const mayEdit = useMay("EDITOR", project);
  const navigate = useNavigate();
  const [isAsking, setIsAsking] = useState(false);
  const [typed, setTyped] = useState("");
  const end = useMutation({
    mutationFn: () =>
      api.DELETE("/api/v1/workflow-definitions/{code}", {
        params: { path: { code: head.code }, header: match(head.version) },
      }),
    onSuccess: () => {
      changedWorkflow();
      void navigate({ to: "/workflows" });
    },
  });
  return (
    <Panel title={t("delete")}>
      <div className="pad stack">
        <p className="mute">{t("deleteMeans")}</p>
        <div>
          <Act
            variant="default"
            why={!mayEdit ? t("editRole", { project }) : null}
            onClick={() => {
              end.reset();
              setIsAsking(true);
            }}
            word={t("deleteDots")}
          />
        </div>
      </div>
      {isAsking && (
        <FormDialog
          title={t("deleteTitle", { name: head.name })}
          verb={t("delete")}
          color="coral"
          why={typed === head.name ? null : t("typeName", { name: head.name })}
          sending={end}
          onClose={() => setIsAsking(false)}
        >
          <TextInput
            data-autofocus
            label={t("typeName", { name: head.name })}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        </FormDialog>
      )}
    </Panel>
  );
}

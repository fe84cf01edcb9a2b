import { NumberInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { stringify } from "yaml";
import { api, type Schemas } from "@/api/client";
import { setField } from "@/editor/model/edits";
import { fieldsOf } from "@/editor/model/fields";
import { asObject, read } from "@/editor/model/read";
import { workflowSchema } from "@/editor/queries";
import { SchemaField } from "@/editor/SchemaField";
import { ChangeOrDelete } from "@/forms/ChangeOrDelete";
import { Confirm } from "@/forms/Confirm";
import { faultAt, faultBeside } from "@/forms/faults";
import { Pairs, pairsOf, valuesOf } from "@/forms/Pairs";
import { Refusal } from "@/forms/Refusal";
import { useKnown } from "@/forms/useKnown";
import { useWhyNot } from "@/login/rights";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Files } from "./Files";
import { Limits } from "./Limits";
import { useOpen } from "./ListAndDetail";
import { Members } from "./Members";
import { projectOf } from "./queries";
import { SaveProject, useSaveProject } from "./useSaveProject";
import "@/editor/editor.css";

/** One project: the parameters and files that its workflows share, its members, what it may use, and its end. */
export function Project({ name }: { name: string }) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const open = useOpen("projects");
  const path = { name };
  const found = useQuery(projectOf(name));
  return (
    <Answer of={found}>
      {(project) => (
        <>
          <SharedParams key={project.version} project={project} />
          <Files project={name} />
          <Members project={name} />
          <Limits project={name} />
          <Defaults key={`defaults ${project.version}`} project={project} />
          <Keep key={`keep ${project.version}`} project={project} />
          <Panel title={t("deleteProject")}>
            <div className="pad form-end">
              <span className="soft">{t("deleteProjectHelp")}</span>
              <ChangeOrDelete
                name={name}
                whyNot={whyNot ?? (project.workflows > 0 ? t("hasWorkflows", { count: project.workflows }) : null)}
                remove={() => api.DELETE("/api/v1/projects/{name}", { params: { path } })}
                onGone={() => open(null)}
                touches={["projects"]}
              >
                <p>{t("deleteProjectHelp")}</p>
              </ChangeOrDelete>
            </div>
          </Panel>
        </>
      )}
    </Answer>
  );
}

function SharedParams({ project }: { project: Schemas["ProjectPageAnswer"] }) {
  const { t } = useTranslation("settings");
  const { save, whyNot } = useSaveProject(project);
  const [pairs, setPairs] = useState(() => pairsOf(project.params));
  const params = valuesOf(pairs);
  const isSame = JSON.stringify(params) === JSON.stringify(project.params);
  const without = Object.keys(project.params).filter((name) => !(name in params));
  return (
    <Panel
      title={t("paramsOf", { name: project.name })}
      end={<SaveProject {...{ save, whyNot, isSame }} onSave={() => save.mutate({ params, without })} />}
    >
      <div className="form pad">
        <p className="mute">{t("paramsHelp")}</p>
        <Pairs
          label={t("params")}
          pairs={pairs}
          onChange={setPairs}
          error={faultAt(save.error, "params")}
          whyNot={whyNot}
        />
        <Refusal error={faultBeside(save.error, "params")} />
      </div>
    </Panel>
  );
}

/** The fields that the tasks of a project get as their files are saved: the form of a workflow's own defaults. */
function Defaults({ project }: { project: Schemas["ProjectPageAnswer"] }) {
  const { t } = useTranslation("settings");
  const { save, whyNot } = useSaveProject(project);
  const { name, defaults } = project;
  const [text, setText] = useState(() => stringify({ name, project: name, tasks: [], defaults }));
  const { graph } = useMemo(() => read(text), [text]);
  const schema = useQuery(workflowSchema);
  const known = useKnown();
  const field = fieldsOf(schema.data).find((each) => each.name === "defaults");
  const wanted = asObject(graph?.fields.defaults);
  const without = Object.keys(defaults).filter((each) => !(each in wanted));
  const onSave = () => save.mutate({ defaults: wanted, without_defaults: without });
  const isSame = JSON.stringify(wanted) === JSON.stringify(defaults);
  return (
    <Panel title={t("defaults")} end={<SaveProject {...{ save, whyNot, isSame, onSave }} variant="default" />}>
      <div className="form pad">
        <p className="mute">{t("defaultsHelp")}</p>
        {graph && field && (
          <SchemaField
            field={field}
            path={["defaults"]}
            value={graph.fields.defaults}
            values={graph.fields}
            scope={{
              ...{ type: "", task: null, graph, known, isFixed: whyNot !== null || save.isPending },
              set: (path, value) => setText((before) => setField(before, null, path, value)),
              rename: () => false,
            }}
            isBare
          />
        )}
        <Refusal error={save.error} />
      </div>
    </Panel>
  );
}

/** For how many days ended runs of a project are kept; empty = as the masters' settings say. */
function Keep({ project }: { project: Schemas["ProjectPageAnswer"] }) {
  const { t } = useTranslation("settings");
  const { save, whyNot } = useSaveProject(project);
  const [days, setDays] = useState<number | string>(project.kept_days ?? "");
  const [isAsking, setAsking] = useState(false);
  const change = { kept_days: days === "" ? ("default" as const) : Number(days) };
  const mutate = () => save.mutate(change, { onSuccess: () => setAsking(false) });
  const onSave = () => (isShorter(project.kept_days ?? null, days) ? setAsking(true) : mutate());
  return (
    <Panel
      title={t("keep")}
      end={<SaveProject {...{ save, whyNot, onSave }} isSame={days === (project.kept_days ?? "")} variant="default" />}
    >
      <div className="fields pad">
        <NumberInput
          label={t("keptDays")}
          description={t("keptDaysHelp")}
          placeholder={t("keptDaysDefault")}
          min={0}
          max={36_500}
          allowDecimal={false}
          value={days}
          readOnly={whyNot !== null || save.isPending}
          error={faultAt(save.error, "kept_days")}
          onChange={setDays}
        />
        <div className="whole">
          <Refusal error={faultBeside(save.error, "kept_days")} />
        </div>
      </div>
      {isAsking && (
        <Confirm
          title={t("shorterTitle", { name: project.name })}
          verb={t("shorterVerb")}
          sending={{ ...save, mutate }}
          onClose={() => setAsking(false)}
        >
          <p>{days === "" ? t("shorterDefaultHelp") : t("shorterHelp", { count: Number(days) })}</p>
        </Confirm>
      )}
    </Panel>
  );
}

/** Whether runs may go earlier with the new time than with the old one. What the masters' settings say is not known here. */
function isShorter(before: number | null, now: number | string): boolean {
  if (now === 0 || before === now) return false;
  return before === 0 || before === null || now === "" || Number(now) < before;
}

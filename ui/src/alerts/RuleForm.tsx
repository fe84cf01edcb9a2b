import { Select, Textarea, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match, type Schemas } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { useDone } from "@/forms/useDone";
import { useFields } from "@/forms/useFields";
import { useWhyNot } from "@/login/rights";
import { workflowNames } from "@/runs/queries";
import { projectNames } from "@/settings/queries";
import { EXAMPLES, exampleFor } from "./examples";
import { checkedRule, type Rule } from "./queries";

const TYPED_MS = 350;

interface Props {
  /** null = a new one. */
  rule: Rule | null;
  project: string | null;
  onClose: () => void;
}

/** A rule in words. What is wrong with it is said at its field while it is typed. */
export function RuleForm({ rule, project: chosen, onClose }: Props) {
  const { t } = useTranslation("alerts");
  const done = useDone("alerts");
  const projects = useQuery(projectNames);
  const [project, setProject] = useState(rule?.project ?? chosen);
  const { values, change, fieldsOf } = useFields({ name: rule?.name ?? "", text: rule?.text ?? "" });
  const { name, text } = values;
  const [typed] = useDebouncedValue(text.trim(), TYPED_MS);
  const workflows = useQuery(workflowNames(project));
  const check = useQuery({ ...checkedRule(project ?? "", typed), enabled: project !== null && typed !== "" });
  const said = typed === "" || project === null ? undefined : check.data;
  const save = useMutation({
    mutationFn: () =>
      api.PUT("/api/v1/projects/{project}/alert-rules/{name}", {
        params: {
          path: { project: project ?? "", name },
          header: match(rule?.version),
        },
        body: { text, enabled: rule?.enabled ?? true },
      }),
    onSuccess: (saved) => {
      onClose();
      void done(t("savedNamed", { name: saved.name }));
    },
  });
  const field = fieldsOf(save.error);
  const whyNot = useWhyNot("EDITOR", project);
  const why =
    whyNot ??
    (project === null ? t("projectFirst") : name === "" ? t("nameFirst") : text.trim() === "" ? t("ruleFirst") : null);
  const first = workflows.data?.items[0]?.name;
  const notes = useId();
  return (
    <FormDialog
      title={rule === null ? t("newRule") : t("changeNamed", { name: rule.name })}
      size={720}
      verb={t("save")}
      why={why}
      sending={save}
      fields={["name", "text"]}
      onClose={onClose}
    >
      <div className="fields">
        <Select
          label={t("project")}
          data={[...(projects.data ?? [])]}
          value={project}
          readOnly={rule !== null}
          onChange={setProject}
          searchable
          error={projects.error?.message}
        />
        <TextInput label={t("name")} readOnly={rule !== null} {...field("name")} />
      </div>
      <Textarea
        label={t("rule")}
        description={t("ruleHelp")}
        autosize
        minRows={2}
        maxRows={6}
        spellCheck={false}
        aria-describedby={notes}
        {...field("text")}
        error={field("text").error ?? said?.fault ?? undefined}
      />
      <div id={notes} className="rule-read" aria-live="polite">
        {said !== undefined && said.fault == null && <Read checked={said} project={project ?? ""} />}
      </div>
      <fieldset className="pairs">
        <legend>{t("examples")}</legend>
        <div className="chips">
          {EXAMPLES.map((each) => (
            <button key={each} type="button" className="chip" onClick={() => change({ text: exampleFor(each, first) })}>
              {exampleFor(each, first)}
            </button>
          ))}
        </div>
      </fieldset>
    </FormDialog>
  );
}

/** What a rule that can be read names, and what of that is not there. */
function Read({ checked, project }: { checked: Schemas["RuleChecked"]; project: string }) {
  const { t } = useTranslation("alerts");
  const { workflow, group, has_workflow, has_group } = checked;
  const missing = [
    has_workflow === false && t("noSuchWorkflow", { name: workflow, project }),
    has_group === false && t("noSuchGroup", { name: group }),
  ].filter((each) => each !== false);
  if (missing.length === 0)
    return (
      <span className="checked">
        <i className="st" data-s="SUCCESS" aria-hidden />
        {workflow == null ? t("readAll", { project, group }) : t("readOne", { workflow, group })}
      </span>
    );
  return (
    <ul className="missing">
      {missing.map((each) => (
        <li key={each} className="checked">
          <i className="st" data-s="LATE" aria-hidden />
          {each}
        </li>
      ))}
    </ul>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useKnown } from "@/forms/useKnown";
import { FieldInput } from "./FieldInput";
import { setWorkflowField } from "./model/edits";
import { fieldsOf } from "./model/fields";
import type { Graph } from "./model/read";
import { workflowSchema } from "./queries";
import type { Editing } from "./useEditing";

const SHOWN = [
  "description",
  "tags",
  "params",
  "outputs",
  "strict_outputs",
  "defaults",
  "execution_type",
  "max_active",
  "after_last",
  "triggers",
  "failure_strategy",
  "priority",
  "timeout_minutes",
  "timeout_strategy",
  "worker_group",
  "environment",
  "tenant",
  "time_zone",
  "warning_type",
  "alert_group",
];

/** The fields of the workflow itself. */
export function WorkflowFields({ graph, editing, isFixed }: { graph: Graph; editing: Editing; isFixed: boolean }) {
  const { t } = useTranslation("editor");
  const schema = useQuery(workflowSchema);
  const known = useKnown();
  const fields = fieldsOf(schema.data);
  return (
    <div className="form">
      {SHOWN.flatMap((name) => fields.find((field) => field.name === name) ?? []).map((field) => (
        <FieldInput
          key={field.name}
          field={field.name === "params" ? { ...field, kind: "pairs" } : field}
          value={graph.fields[field.name]}
          isFixed={isFixed}
          known={known[field.name]}
          onChange={(value) =>
            editing.edit((text) => setWorkflowField(text, [field.name], value), `workflow.${field.name}`)
          }
        />
      ))}
      {isFixed && <p className="mute">{t("fixed")}</p>}
    </div>
  );
}

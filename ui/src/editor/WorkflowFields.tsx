import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useKnown } from "@/forms/useKnown";
import { renameKey, setField } from "./model/edits";
import { fieldsOf } from "./model/fields";
import type { Graph } from "./model/read";
import { workflowSchema } from "./queries";
import { SchemaFields, type Scope } from "./SchemaField";
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
  const all = fieldsOf(schema.data);
  const scope: Scope = {
    ...{ type: "", task: null, graph, known, isFixed },
    set: (path, value) => editing.edit((text) => setField(text, null, path, value), `workflow.${path.join(".")}`),
    rename: (path, to) => editing.edit((text) => renameKey(text, null, path, to)),
  };
  const fields = SHOWN.flatMap((name) => all.find((field) => field.name === name) ?? []);
  return (
    <div className="form">
      <SchemaFields fields={fields} path={[]} value={graph.fields} scope={scope} />
      {isFixed && <p className="mute">{t("fixed")}</p>}
    </div>
  );
}

import { MultiSelect, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Ref } from "react";
import { useTranslation } from "react-i18next";
import { useKnown } from "@/forms/useKnown";
import { Fixes } from "./Fixes";
import { Folded } from "./Folded";
import { setChoice } from "./model/cases";
import { renameKey, renameTask, setAfter, setField } from "./model/edits";
import { fieldsOf } from "./model/fields";
import { asObject, type Task } from "./model/read";
import { NameInput } from "./NameInput";
import { taskTypes, workflowSchema } from "./queries";
import { SchemaFields, type Scope } from "./SchemaField";
import { SwitchTry } from "./SwitchTry";
import type { EditorPart } from "./useEditing";

/** Fields of every task, by what they are about; what it is, comes after and does stands above them. */
const GROUPS: { word: string; fields: string[] }[] = [
  { word: "group.parameters", fields: ["each", "local_params"] },
  {
    word: "group.failure",
    fields: ["retry_times", "retry_interval", "skip_exit_codes", "timeout", "timeout_strategy", "on_worker_loss"],
  },
  { word: "group.where", fields: ["worker_group", "environment", "files", "data_sources", "tenant", "resources"] },
  {
    word: "group.order",
    fields: ["flag", "priority", "delay_time", "dispatch_timeout", "cache", "updates", "teardown", "on_exit", "group"],
  },
];

/** So many tasks are offered at once; the others are found by what is typed. */
const OPTIONS_MAX = 100;

interface Props extends EditorPart {
  task: Task;
  nameRef: Ref<HTMLInputElement>;
  onRenamed: (name: string) => void;
}

/** The properties of a task: its name, type and order, the parameters of its type, and what every task has. */
export function TaskFields({ task, graph, editing, problems, isFixed, nameRef, onRenamed }: Props) {
  const { t } = useTranslation("editor");
  const types = useQuery(taskTypes);
  const schema = useQuery(workflowSchema);
  const known = useKnown();
  const type = types.data?.items.find((each) => each.name === task.type);
  const params = fieldsOf(type?.params);
  const defaults = asObject(graph.fields.defaults);
  const common = fieldsOf({ ...asObject(asObject(schema.data?.$defs).TaskSpec), $defs: schema.data?.$defs }).map(
    (each) => (each.name in defaults ? { ...each, standard: defaults[each.name] } : each),
  );
  const isRuled = (task.after.length > 0 && task.type !== "CONDITIONS") || task.fields.start_when !== undefined;
  const scope: Scope = {
    ...{ type: task.type, task, graph, known, isFixed },
    set: (path, value, instead) =>
      editing.edit(
        (text) => {
          const changed = setChoice(text, task, path, value);
          if (instead === undefined || value === undefined) return changed;
          return setField(changed, task.name, [...path.slice(0, -1), instead], undefined);
        },
        `${task.name}.${path.join(".")}`,
      ),
    rename: (path, to) => editing.edit((text) => renameKey(text, task.name, path, to)),
  };
  const shown = (names: string[]) => {
    const fields = names.flatMap((name) => common.find((each) => each.name === name) ?? []);
    return <SchemaFields fields={fields} path={[]} value={task.fields} scope={scope} />;
  };
  return (
    <div className="form">
      {problems.map((problem) => (
        <div key={problem.sentence}>
          <p className="task-problem" data-warning={problem.isWarning}>
            <i className="st" data-s={problem.isWarning ? "LATE" : "FAILURE"} />
            <span>{problem.sentence}</span>
          </p>
          {!isFixed && <Fixes problem={problem} graph={graph} editing={editing} />}
        </div>
      ))}
      <NameInput
        key={task.name}
        name={task.name}
        label={t("field.name")}
        isFixed={isFixed}
        inputRef={nameRef}
        onName={(name) => {
          const isDone = editing.edit((text) => renameTask(text, task.name, name));
          if (isDone) onRenamed(name);
          return isDone;
        }}
      />
      {shown(["description"])}
      <Select
        label={t("field.type")}
        data={types.data?.items.map((each) => each.name) ?? [task.type]}
        value={task.type}
        readOnly={isFixed}
        searchable
        allowDeselect={false}
        onChange={(chosen) => chosen !== null && scope.set(["type"], chosen)}
      />
      <MultiSelect
        label={t("field.after")}
        data={graph.tasks.flatMap((each) => (each.name === task.name ? [] : each.name))}
        limit={OPTIONS_MAX}
        value={task.after}
        readOnly={isFixed}
        searchable
        placeholder={task.after.length === 0 ? t("first") : undefined}
        nothingFoundMessage={t("noTask")}
        onChange={(after) => editing.edit((text) => setAfter(text, task.name, after))}
      />
      {isRuled && shown(["start_when"])}
      <SchemaFields key={task.type} fields={params} path={["params"]} value={task.params} scope={scope} />
      {task.type === "SWITCH" && <SwitchTry key={`${task.name} try`} task={task} graph={graph} />}
      {type?.problem && <p className="task-problem">{type.problem}</p>}
      {schema.data !== undefined &&
        GROUPS.map(({ word, fields }) => (
          <Folded
            key={`${task.name} ${word}`}
            word={t(word)}
            given={fields.filter((name) => task.fields[name] !== undefined).length}
          >
            {shown(fields)}
          </Folded>
        ))}
    </div>
  );
}

import { MultiSelect, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type Ref, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useKnown } from "@/forms/useKnown";
import { FieldInput } from "./FieldInput";
import { Fixes } from "./Fixes";
import { renameTask, setAfter, setField } from "./model/edits";
import { type Field, fieldsOf } from "./model/fields";
import { asObject, type Task } from "./model/read";
import { taskTypes, workflowSchema } from "./queries";
import { SwitchFields } from "./SwitchFields";
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
  const rule = common.find((each) => each.name === "start_when");
  const description = common.find((each) => each.name === "description");
  const isRuled = task.after.length > 0 && task.type !== "CONDITIONS";
  const set = (path: string[], value: unknown) =>
    editing.edit((text) => setField(text, task.name, path, value), `${task.name}.${path.join(".")}`);
  const field = (each: Field, path: string[], value: unknown) => (
    <FieldInput
      key={each.name}
      field={each}
      value={value}
      isFixed={isFixed}
      known={known[each.name]}
      error={each.isRequired && (value === undefined || value === "") ? t("required") : undefined}
      onChange={(given) => set(path, given)}
    />
  );
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
        isFixed={isFixed}
        inputRef={nameRef}
        onName={(name) => {
          const isDone = editing.edit((text) => renameTask(text, task.name, name));
          if (isDone) onRenamed(name);
          return isDone;
        }}
      />
      {description && field(description, [description.name], task.fields.description)}
      <Select
        label={t("field.type")}
        data={types.data?.items.map((each) => each.name) ?? [task.type]}
        value={task.type}
        readOnly={isFixed}
        searchable
        allowDeselect={false}
        onChange={(chosen) => chosen !== null && set(["type"], chosen)}
      />
      <MultiSelect
        label={t("field.after")}
        data={graph.tasks.flatMap((each) => (each.name === task.name ? [] : each.name))}
        value={task.after}
        readOnly={isFixed}
        searchable
        placeholder={task.after.length === 0 ? t("first") : undefined}
        nothingFoundMessage={t("noTask")}
        onChange={(after) => editing.edit((text) => setAfter(text, task.name, after))}
      />
      {rule && (isRuled || task.fields.start_when !== undefined) && field(rule, [rule.name], task.fields.start_when)}
      {task.type === "SWITCH" ? (
        <SwitchFields task={task} graph={graph} editing={editing} isFixed={isFixed} />
      ) : (
        params.map((each) => field(each, ["params", each.name], task.params[each.name]))
      )}
      {type?.problem && <p className="task-problem">{type.problem}</p>}
      {GROUPS.map(({ word, fields }) => {
        const shown = fields.flatMap((name) => common.find((each) => each.name === name) ?? []);
        const given = shown.filter((each) => task.fields[each.name] !== undefined).length;
        if (shown.length === 0) return null;
        return (
          <details key={word} className="more" open={given > 0 || undefined}>
            <summary>
              {t(word)} <span className="mute">{given === 0 ? t("standard") : t("given", { count: given })}</span>
            </summary>
            <div className="form">{shown.map((each) => field(each, [each.name], task.fields[each.name]))}</div>
          </details>
        );
      })}
    </div>
  );
}

interface NameProps {
  name: string;
  isFixed: boolean;
  inputRef: Ref<HTMLInputElement>;
  onName: (name: string) => boolean;
}

/** A name is changed as a whole, when it is left: half a name is nobody's. */
function NameInput({ name, isFixed, inputRef, onName }: NameProps) {
  const { t } = useTranslation("editor");
  const [typed, setTyped] = useState(name);
  useEffect(() => setTyped(name), [name]);
  const keep = () => {
    if (typed.trim() !== name && !onName(typed.trim())) setTyped(name);
  };
  return (
    <TextInput
      ref={inputRef}
      label={t("field.name")}
      withAsterisk
      readOnly={isFixed}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={keep}
      onKeyDown={(event) => {
        if (event.key === "Enter") keep();
        if (event.key === "Escape") setTyped(name);
      }}
    />
  );
}

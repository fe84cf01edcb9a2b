import type { ReactNode, Ref } from "react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { noteOf, taskOf } from "./flow";
import { TypeIcon } from "./icons";
import { TaskFields } from "./TaskFields";
import type { EditorPart } from "./useEditing";
import { WorkflowFields } from "./WorkflowFields";

interface Props extends EditorPart {
  selected: string[];
  nameRef: Ref<HTMLInputElement>;
  onRenamed: (name: string) => void;
  onDelete: () => void;
  /** Under the fields of a task. */
  children?: (task: string) => ReactNode;
}

/** What is selected, and its fields: a task, several, or the workflow itself. */
export function Properties({
  graph,
  editing,
  problems,
  selected,
  isFixed,
  nameRef,
  onRenamed,
  onDelete,
  children,
}: Props) {
  const { t } = useTranslation("editor");
  const task = selected.length === 1 ? graph.tasks.find((each) => each.name === taskOf(selected[0] ?? "")) : undefined;
  if (task !== undefined)
    return (
      <section className="properties" aria-label={t("properties")}>
        <header>
          <TypeIcon type={task.type} />
          <h2 className="cut">{task.name}</h2>
          <span className="end">{task.type}</span>
        </header>
        <TaskFields
          task={task}
          graph={graph}
          editing={editing}
          problems={problems.filter((problem) => problem.task === task.name)}
          isFixed={isFixed}
          nameRef={nameRef}
          onRenamed={onRenamed}
        />
        {children?.(task.name)}
      </section>
    );
  const isNote = selected.length === 1 && noteOf(selected[0] ?? "") !== null;
  if (selected.length > 0)
    return (
      <section className="properties" aria-label={t("properties")}>
        <header>
          <h2>{isNote ? t("note") : t("selected", { count: selected.length })}</h2>
        </header>
        <div className="form">
          <p className="mute">{isNote ? t("noteHelp") : t("manyHelp")}</p>
          {!isFixed && <Act variant="default" onClick={onDelete} word={t("remove")} />}
        </div>
      </section>
    );
  return (
    <section className="properties" aria-label={t("properties")}>
      <header>
        <h2 className="cut">{graph.name}</h2>
        <span className="end">{t("workflow")}</span>
      </header>
      <WorkflowFields graph={graph} editing={editing} isFixed={isFixed} />
    </section>
  );
}

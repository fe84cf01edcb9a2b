import { useMediaQuery } from "@mantine/hooks";
import { useTranslation } from "react-i18next";
import { Editor } from "@/editor/Editor";
import { TryTask } from "@/editor/TryTask";
import { useCheck } from "@/editor/useCheck";
import type { Editing } from "@/editor/useEditing";
import { sayFailure } from "@/parts/notices";
import { Ago } from "@/parts/Time";
import { useWorkflowSearch } from "./search";
import type { DraftOf } from "./useDraft";

const NOTHING: never[] = [];

interface Props {
  editing: Editing;
  draft: DraftOf;
  mayEdit: boolean;
  project: string;
}

/** The graph, which is the editor. */
export function GraphTab({ editing, draft, mayEdit, project }: Props) {
  const { t } = useTranslation("workflow");
  const { search, change } = useWorkflowSearch();
  const check = useCheck(editing.text, editing.graph, mayEdit);
  const hasRoom = useMediaQuery("(min-width: 1200px)", undefined, { getInitialValueInEffect: false }) === true;
  const { graph } = editing;
  if (graph === null) {
    if (editing.text === "") return null;
    return (
      <p className="pad problem">{t("unreadable", { line: editing.fault?.line, why: editing.fault?.said ?? "" })}</p>
    );
  }
  const saved = draft.source.data?.draft;
  return (
    <Editor
      editing={editing}
      graph={graph}
      problems={editing.fault === null ? check.problems : NOTHING}
      isFixed={!mayEdit}
      selected={search.select ?? NOTHING}
      onSelect={(select) => change({ select: select.length > 0 ? select : undefined })}
      hasYaml={search.yaml ?? hasRoom}
      onYaml={(isShown) => change({ yaml: isShown === hasRoom ? undefined : isShown })}
      onSave={() => {
        if (!mayEdit) sayFailure(new Error(t("editRole", { project })));
        else if (draft.isDirty) draft.save.mutate(false);
      }}
      underTask={(name) => {
        const task = graph.tasks.find((each) => each.name === name);
        const timeZone = typeof graph.fields.time_zone === "string" ? graph.fields.time_zone : "UTC";
        return task !== undefined && <TryTask key={name} task={task} project={project} timeZone={timeZone} />;
      }}
      status={
        <span>
          {draft.isDirty ? (
            t("unsaved")
          ) : saved ? (
            <>
              {t("draftOf")} <Ago at={saved.updated_at} />
            </>
          ) : (
            t("asPublished")
          )}
        </span>
      }
    />
  );
}

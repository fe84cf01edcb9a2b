import { MultiSelect, TextInput } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { IconAct } from "@/parts/IconAct";
import { addCase, removeCase, setNext } from "./model/cases";
import { setField } from "./model/edits";
import { casesOf, type Task, textsOf } from "./model/read";
import type { EditorPart } from "./useEditing";

interface Props extends Pick<EditorPart, "graph" | "editing" | "isFixed"> {
  task: Task;
}

/** The cases of a SWITCH task as rows: if this is true, then these tasks; else those. */
export function SwitchFields({ task, graph, editing, isFixed }: Props) {
  const { t } = useTranslation("editor");
  const others = graph.tasks.flatMap((each) => (each.name === task.name ? [] : each.name));
  const next = (place: number | "default", label: string, chosen: string[]) => (
    <MultiSelect
      label={label}
      data={[...new Set([...others, ...chosen])]}
      value={chosen}
      readOnly={isFixed}
      searchable
      nothingFoundMessage={t("noTask")}
      onChange={(names) => editing.edit((text) => setNext(text, task, place, names))}
    />
  );
  const setCondition = (place: number, when: string) =>
    editing.edit(
      (text) => setField(text, task.name, ["params", "cases", place, "when"], when),
      `${task.name}.cases.${place}`,
    );
  return (
    <>
      {casesOf(task).map((each, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a case is its place
        <fieldset key={place} className="form case" aria-label={t("case", { number: place + 1 })}>
          <TextInput
            label={t("if", { number: place + 1 })}
            placeholder="${amount} > 100"
            classNames={{ input: "mono" }}
            spellCheck={false}
            value={each.when}
            readOnly={isFixed}
            error={each.when === "" ? t("required") : undefined}
            rightSection={
              !isFixed && (
                <IconAct
                  icon={IconX}
                  word={t("removeCase", { number: place + 1 })}
                  onClick={() => editing.edit((text) => removeCase(text, task, place))}
                />
              )
            }
            onChange={(event) => setCondition(place, event.currentTarget.value)}
          />
          {next(place, t("then", { number: place + 1 }), each.next)}
        </fieldset>
      ))}
      {!isFixed && (
        <Act
          variant="subtle"
          size="compact-sm"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => editing.edit((text) => addCase(text, task))}
          word={t("addCase")}
        />
      )}
      {next("default", t("field.default"), textsOf(task.params.default))}
    </>
  );
}

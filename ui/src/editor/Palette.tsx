import { CloseButton, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type DragEvent, type KeyboardEvent, type Ref, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Answer } from "@/parts/Answer";
import { rankOf, TypeIcon } from "./icons";
import { taskTypes } from "./queries";

/** The kind of what is dragged from the palette to the canvas. */
export const DRAGGED = "application/x-shoal-task-type";

type TaskType = Schemas["TaskTypeAnswer"];

interface Props {
  findRef: Ref<HTMLInputElement>;
  /** The task after which the next one is added. */
  after: string | null;
  onForgetAfter: () => void;
  onAdd: (type: string) => void;
}

/** The task types: drag one to the canvas, or type its name and press enter. */
export function Palette({ findRef, after, onForgetAfter, onAdd }: Props) {
  const { t } = useTranslation("editor");
  const found = useQuery(taskTypes);
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const matching = (found.data?.items ?? [])
    .filter((type) => type.name.toLowerCase().includes(typed.toLowerCase()))
    .sort((a, b) => rankOf(a.name) - rankOf(b.name));
  const ordered = [...matching.filter((each) => !isInMaster(each)), ...matching.filter(isInMaster)];
  const add = (type: TaskType) => {
    setTyped("");
    setAt(0);
    onAdd(type.name);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const chosen = ordered[at];
    if (event.key === "Enter" && chosen !== undefined) add(chosen);
    else if (event.key === "ArrowDown") setAt(Math.min(at + 1, ordered.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Escape") {
      setTyped("");
      onForgetAfter();
      event.currentTarget.blur(); // so that the editor's keys are the editor's again
    } else return;
    event.preventDefault();
  };
  const group = (word: string, types: TaskType[]) =>
    types.length > 0 && (
      <>
        <h2>{t(word)}</h2>
        <ul>
          {types.map((type) => (
            <Entry key={type.name} type={type} isAt={typed !== "" && ordered[at] === type} onAdd={() => add(type)} />
          ))}
        </ul>
      </>
    );
  return (
    <aside className="type-palette" aria-label={t("taskTypes")}>
      <TextInput
        ref={findRef}
        aria-label={t("findType")}
        placeholder={t("findType")}
        leftSection={<IconSearch size={14} aria-hidden />}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      {after !== null && (
        <p className="palette-after">
          <span className="cut">{t("addAfter", { task: after })}</span>
          <CloseButton size="xs" aria-label={t("forgetAfter")} onClick={onForgetAfter} />
        </p>
      )}
      <Answer of={found} lines={8}>
        {() => (
          <>
            {group(
              "onWorker",
              ordered.filter((each) => !isInMaster(each)),
            )}
            {group("inMaster", ordered.filter(isInMaster))}
            {ordered.length === 0 && <p className="mute pad">{t("noType")}</p>}
          </>
        )}
      </Answer>
    </aside>
  );
}

function isInMaster(type: TaskType): boolean {
  return type.runs_in === "MASTER";
}

function Entry({ type, isAt, onAdd }: { type: TaskType; isAt: boolean; onAdd: () => void }) {
  const drag = (event: DragEvent) => {
    event.dataTransfer.setData(DRAGGED, type.name);
    event.dataTransfer.effectAllowed = "copy";
  };
  return (
    <li>
      <button
        type="button"
        draggable
        onDragStart={drag}
        onClick={onAdd}
        data-at={isAt}
        data-master={isInMaster(type)}
        title={type.problem ?? undefined}
      >
        <TypeIcon type={type.name} />
        <span className="cut">{type.name}</span>
        {isAt && <span className="kbd">↵</span>}
      </button>
    </li>
  );
}

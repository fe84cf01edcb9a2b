import { Checkbox, Popover } from "@mantine/core";
import { IconColumns3 } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { IconAct } from "@/parts/IconAct";
import { kept } from "./shared";

/** The columns of each table that somebody does not want to see, by their places. */
const hidden = kept<Record<string, string[]>>("shoal-columns", {});

/** The columns of a table that are not shown, and how to change them. */
export function useHidden(table: string | undefined): string[] {
  const all = hidden.use();
  return (table !== undefined && all[table]) || [];
}

interface Props {
  table: string;
  /** Those that may be hidden: their places and words. */
  all: (readonly [place: string, word: string])[];
}

/** Chooses which columns of a table are shown in this browser. */
export function Columns({ table, all }: Props) {
  const { t } = useTranslation("parts");
  const off = useHidden(table);
  const change = (shown: string[]) => {
    const places = all.map(([place]) => place).filter((place) => !shown.includes(place));
    hidden.set({ ...hidden.now(), [table]: places });
  };
  return (
    <Popover position="bottom-end" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <IconAct icon={IconColumns3} word={t("columns")} size={26} className="columns" />
      </Popover.Target>
      <Popover.Dropdown className="chip-choices">
        <Checkbox.Group
          aria-label={t("columns")}
          value={all.map(([place]) => place).filter((place) => !off.includes(place))}
          onChange={change}
        >
          {all.map(([place, word]) => (
            <Checkbox key={place} value={place} label={word} size="xs" />
          ))}
        </Checkbox.Group>
      </Popover.Dropdown>
    </Popover>
  );
}

import { Checkbox, Popover } from "@mantine/core";
import { IconArrowDown, IconArrowUp, IconColumns3 } from "@tabler/icons-react";
import { isValidElement, type ReactElement, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Order } from "@/lists/order";
import { IconAct } from "@/parts/IconAct";
import { ScrollX } from "./ScrollX";
import { kept } from "./shared";

/** A column by which the rows can be sorted. */
interface Sortable {
  by: string;
  head: string | Readonly<Record<string, string>>;
}

/** The head of a column: its word, with a class as in `{ num: word }`, or a whole cell; false = none. */
type Head = string | false | undefined | ReactElement | Sortable | Readonly<Record<string, string>>;

interface Props {
  heads: readonly Head[];
  className?: string;
  /** It gets the focus itself, so that the keyboard can scroll it. */
  hasFocus?: boolean;
  /** Each person chooses which of its columns are shown; the browser keeps it under this name. */
  chosenAs?: string;
  /** How the rows are sorted, if all of them are there. */
  order?: Order | undefined;
  /** Its rows. With `chosenAs` each has a cell for each head. */
  children: ReactNode;
}

/** A table that is scrolled where it is wider than its place. */
export function Table({ heads, className, hasFocus = false, chosenAs, order, children }: Props) {
  const shown = heads.flatMap((head, place) => (head ? place : []));
  const hides = useHidden(chosenAs).map((place) => shown.indexOf(Number(place)) + 1);
  // What a row is called by stays, and so does the end, where the columns are chosen.
  const words = shown.flatMap((place) => {
    const word = wordOf(heads[place])[1];
    return word === undefined ? [] : [[String(place), word] as const];
  });
  const end = chosenAs !== undefined && <Columns table={chosenAs} all={words.slice(1, -1)} />;
  const table = (
    <table className={className} data-hides={hides.join(" ") || undefined}>
      <Heads of={heads} end={end} order={order} />
      <tbody>{children}</tbody>
    </table>
  );
  return hasFocus ? <ScrollX>{table}</ScrollX> : <div className="scroll-x">{table}</div>;
}

/** The heads of a table's columns; `unseen` ones are for those who do not see what stands below. `end`: in the last. */
export function Heads({ of, end, order }: { of: readonly Head[]; end?: ReactNode; order?: Order | undefined }) {
  return (
    <thead>
      <tr>
        {of.map((head, place) => {
          if (!head || isValidElement(head)) return head;
          const [look, word] = wordOf(head);
          const by = isSortable(head) && order ? head.by : null;
          const isSorted = by !== null && order?.by === by;
          const Arrow = order?.isDown ? IconArrowDown : IconArrowUp;
          return (
            <th
              // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
              key={place}
              className={look === "unseen" ? undefined : look || undefined}
              aria-sort={isSorted ? (order?.isDown ? "descending" : "ascending") : undefined}
            >
              {by !== null ? (
                <button type="button" className="sorts" onClick={() => order?.press(by)}>
                  {word}
                  {isSorted && <Arrow size={12} aria-hidden />}
                </button>
              ) : look === "unseen" ? (
                <span className="unseen">{word}</span>
              ) : (
                word
              )}
              {place === of.length - 1 && end}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** The class of a head and its word, if it has one. */
function wordOf(head: Head): [look?: string, word?: string] {
  if (!head || isValidElement(head)) return [];
  if (isSortable(head)) return wordOf(head.head);
  return typeof head === "string" ? ["", head] : (Object.entries(head)[0] ?? []);
}

function isSortable(head: Head): head is Sortable {
  return typeof head === "object" && "by" in head && "head" in head;
}

/** The columns of each table that somebody does not want to see, by their places. */
const hidden = kept<Record<string, string[]>>("shoal-columns", {});

/** The columns of a table that are not shown, and how to change them. */
function useHidden(table: string | undefined): string[] {
  const all = hidden.use();
  return (table !== undefined && all[table]) || [];
}

interface ColumnsProps {
  table: string;
  /** Those that may be hidden: their places and words. */
  all: (readonly [place: string, word: string])[];
}

/** Chooses which columns of a table are shown in this browser. */
function Columns({ table, all }: ColumnsProps) {
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

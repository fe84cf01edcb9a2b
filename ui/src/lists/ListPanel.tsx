import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { count } from "@/parts/time";
import { type Filters, filterWords, textOf } from "./filters";

interface Page<T> {
  items: T[];
  has_more: boolean;
  next_cursor?: string | null;
}

interface Props<T> {
  title: string;
  of: UseQueryResult<Page<T>>;
  filters: Filters;
  /** How many are on a page. */
  size: number;
  /** How many match in all, in words; null = not known. */
  number: string | null;
  /** The folder whose words say that there is nothing. */
  words: string;
  /** Above the rows. */
  head?: ReactNode;
  /** A hint below them. */
  hint?: ReactNode;
  children: (items: T[]) => ReactNode;
}

/** One page of what a list found, and the ways to the others. */
export function ListPanel<T>({ title, of, filters, size, number, words, head, hint, children }: Props<T>) {
  const { t } = useTranslation(words);
  const shown = of.data?.items.length ?? 0;
  const isFiltered = Object.keys(filterWords(filters.search)).length > 0;
  return (
    <section className="panel" aria-label={title} aria-busy={of.isPlaceholderData}>
      {head}
      <Answer of={of} lines={10} empty={<Empty title={t("none")}>{t(isFiltered ? "noneFiltered" : "noneYet")}</Empty>}>
        {({ items }) => children(items)}
      </Answer>
      {(shown > 0 || of.data?.has_more) && (
        <footer>
          {hint}
          <div className="end">
            <Pager
              filters={filters}
              next={of.data?.has_more ? of.data.next_cursor : null}
              size={size}
              shown={shown}
              number={number}
            />
          </div>
        </footer>
      )}
    </section>
  );
}

/** From which page one came to a page; a page that was opened by its address leads to the newest. */
const before = new Map<string, string>();

interface PagerProps {
  filters: Filters;
  next: string | null | undefined;
  size: number;
  shown: number;
  /** How many there are in all, in words; null = not known yet. */
  number: string | null;
}

/** Where in the list one is, and the ways to its newer and older part. The place is in the address. */
function Pager({ filters, next, size, shown, number }: PagerProps) {
  const { t } = useTranslation("lists");
  const cursor = textOf(filters.search, "cursor") ?? "";
  const page = Math.max(1, Number(textOf(filters.search, "page") ?? 1) || 1);
  const first = (page - 1) * size + 1;
  const older = () => {
    if (!next) return;
    before.set(next, cursor);
    filters.place({ cursor: next, page: page + 1, row: undefined });
    scrollTo({ top: 0 });
  };
  const newer = () => {
    const back = before.get(cursor) ?? "";
    filters.place({ cursor: back === "" ? undefined : back, page: back === "" ? undefined : page - 1, row: undefined });
  };
  return (
    <>
      <span>
        {shown > 0 && t("place", { first: count(first), last: count(first + shown - 1) })}
        {shown > 0 && number !== null && ` ${t("ofAll", { number })}`}
      </span>
      {cursor !== "" && <Act size="compact-xs" variant="default" onClick={newer} word={t("newer")} />}
      {next && <Act size="compact-xs" variant="default" onClick={older} word={t("older")} />}
    </>
  );
}

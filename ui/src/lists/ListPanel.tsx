import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Answer, Empty } from "@/parts/Answer";
import { type Filters, filterWords } from "./filters";
import { Pager } from "./Pager";

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

import { TextInput } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";

interface Search {
  row?: unknown;
  new?: unknown;
}

interface Props<T> {
  /** Which of the settings it is: its words are `section.ID`, `new.ID`, `none.ID`, and `noneHelp.ID`. */
  section: string;
  of: UseQueryResult<{ items: readonly T[] }>;
  /** By what the address names one. */
  keyOf: (item: T) => string;
  /** What stands in its row: its name, and a short remark. */
  row: (item: T) => readonly [name: string, remark?: ReactNode];
  /** Why no new one can be made. */
  whyNot: string | null;
  /** Makes a new one. */
  form: ReactNode;
  /** Everything of one of them. */
  children: (item: T) => ReactNode;
}

/** A list that is searched, and beside it all of the one that the address names; on phones one of both. */
export function ListAndDetail<T>({ section, of, keyOf, row, whyNot, form, children }: Props<T>) {
  const { t } = useTranslation("settings");
  const search = useSearch({ strict: false }) as Search;
  const open = useOpen(section);
  const [sought, setSought] = useState("");
  const at = search.row === undefined ? null : String(search.row);
  const isNew = search.new !== undefined;
  const chosen = of.data?.items.find((each) => keyOf(each) === at);
  const matches = (item: T) => row(item)[0].toLowerCase().includes(sought.trim().toLowerCase());
  const title = t(`section.${section}`);
  return (
    <div className="list-detail" data-open={at !== null || isNew}>
      <Panel
        title={title}
        remark={of.data?.items.length}
        className="its-list"
        end={<Act size="xs" why={whyNot} onClick={() => open(null, true)} word={t("new")} hint={t(`new.${section}`)} />}
      >
        <Answer of={of} empty={<Empty title={t(`none.${section}`)}>{t(`noneHelp.${section}`)}</Empty>}>
          {({ items }) => (
            <>
              <TextInput
                type="search"
                aria-label={t("find")}
                placeholder={t("find")}
                value={sought}
                onChange={(event) => setSought(event.currentTarget.value)}
              />
              <ul>
                {items.filter(matches).map((item) => (
                  <li key={keyOf(item)}>
                    <Link
                      to="/settings/$section"
                      params={{ section }}
                      search={{ row: keyOf(item) }}
                      resetScroll={false}
                      aria-current={keyOf(item) === at || undefined}
                    >
                      <span className="cut">{row(item)[0]}</span>
                      <span className="mute">{row(item)[1]}</span>
                    </Link>
                  </li>
                ))}
              </ul>
              {!items.some(matches) && <Empty title={t("noneFound")} />}
            </>
          )}
        </Answer>
      </Panel>
      <Detail key={isNew ? "new" : `row ${at}`} isChosen={at !== null || isNew}>
        <Link className="back" to="/settings/$section" params={{ section }} search={{}}>
          <IconArrowLeft size={16} stroke={1.5} aria-hidden /> {title}
        </Link>
        {isNew && form}
        {!isNew && chosen !== undefined && children(chosen)}
        {!isNew && chosen === undefined && of.data !== undefined && (
          <Panel title={at ?? title}>
            <Empty title={t(at === null ? "chooseOne" : "noneFound")} />
          </Panel>
        )}
      </Detail>
    </div>
  );
}

/** Opens one of a list, or none of it; `isNew`: the form that makes one. */
export function useOpen(section: string) {
  const navigate = useNavigate();
  return (row: string | null, isNew = false) =>
    void navigate({
      to: "/settings/$section",
      params: { section },
      search: isNew ? { new: true } : row === null ? {} : { row },
      resetScroll: false,
    });
}

/** What was chosen: it comes into sight from its top, and gets the focus. */
function Detail({ isChosen, children }: { isChosen: boolean; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isChosen) return;
    place.current?.scrollIntoView({ block: "start" });
    place.current?.focus({ preventScroll: true });
  }, [isChosen]);
  return (
    <div ref={place} className="detail" tabIndex={-1}>
      {children}
    </div>
  );
}

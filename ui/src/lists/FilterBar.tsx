import { IconSearch, IconX } from "@tabler/icons-react";
import { type ReactNode, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { State } from "@/parts/State";
import { ChoiceChip } from "./ChoiceChip";
import { type Filters, filterWords, oneOf, textOf } from "./filters";
import { TimeChip } from "./TimeChip";

const TYPED_MS = 300;
/** The field for free text has this id, so that `/` finds it. */
export const SEARCH_ID = "list-search";

interface Props {
  filters: Filters;
  /** What can be sought; without it there is no free text. */
  hint?: string;
  /** Those that rows of the list may have; with them it is filtered by time and state. */
  states?: readonly string[];
  children: ReactNode;
}

/** Free text and the chips of a list. All of it is in the address. */
export function FilterBar({ filters, hint, states, children }: Props) {
  const { t } = useTranslation("lists");
  const parts = useTranslation("parts").t;
  const asked = textOf(filters.search, "q") ?? "";
  const [typed, setTyped] = useState(asked);
  const [seen, setSeen] = useState(asked);
  if (asked !== seen) {
    setSeen(asked);
    setTyped(asked);
  }
  const { change } = filters;
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again only after a pause in typing
  useEffect(() => {
    if (typed.trim() === asked) return;
    const timer = setTimeout(() => change({ q: typed.trim() === "" ? undefined : typed.trim() }), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const isFiltered = Object.keys(filterWords(filters.search)).length > 0;
  return (
    <search className="filters">
      {hint !== undefined && (
        <label className="text-filter">
          <IconSearch size={14} stroke={1.5} aria-hidden />
          <input
            id={SEARCH_ID}
            type="search"
            value={typed}
            placeholder={hint}
            aria-label={hint}
            onChange={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
          />
          <span className="kbd" aria-hidden>
            /
          </span>
        </label>
      )}
      {states !== undefined && (
        <>
          <TimeChip search={filters.search} onChange={change} />
          <ChoiceChip
            name={t("state")}
            all={states}
            chosen={oneOf(filters.search, "state", states)}
            label={(state) => <State state={state} />}
            text={(state) => parts(`state.${state}`)}
            onChange={(state) => change({ state })}
          />
        </>
      )}
      {children}
      {isFiltered && (
        <button type="button" className="chip bare" onClick={() => filters.replace({})}>
          <IconX size={12} stroke={1.75} aria-hidden />
          {t("clearAll")}
        </button>
      )}
    </search>
  );
}

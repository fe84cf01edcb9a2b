import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { count } from "@/parts/time";
import { type Filters, textOf } from "./filters";

/** From which page one came to a page; a page that was opened by its address leads to the newest. */
const before = new Map<string, string>();

interface Props {
  filters: Filters;
  next: string | null | undefined;
  size: number;
  shown: number;
  /** How many there are in all, in words; null = not known yet. */
  number: string | null;
}

/** Where in the list one is, and the ways to its newer and older part. The place is in the address. */
export function Pager({ filters, next, size, shown, number }: Props) {
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

/** Words about changes of slots and moments. */
import type { TFunction } from "i18next";
import { shownZone, TIME_OF_DAY } from "@/parts/time";
import type { Change } from "./story";

/** Such as: m4 fenced, m5 joined. */
export function changeWords(change: Change, t: TFunction<"cluster">): string {
  return change.changes.map((each) => t(`did.${each.reason}`, { name: each.name })).join(", ");
}

/** The time of day in the shown zone, to the second, or to a tenth of it. */
export function clockTime(ms: number, language: string, hasSeconds = true, tenths = false): string {
  return new Intl.DateTimeFormat(language, {
    timeZone: shownZone(),
    ...TIME_OF_DAY,
    ...(hasSeconds && { second: "2-digit" }),
    ...(tenths && { fractionalSecondDigits: 1 }),
  }).format(ms);
}

/** The same where there is little room: the first of them, and how many more. */
export function shortChangeWords(change: Change, t: TFunction<"cluster">): string {
  const [first, ...more] = change.changes;
  if (first === undefined) return "";
  return `${t(`did.${first.reason}`, { name: first.name })}${more.length > 0 ? ` +${more.length}` : ""}`;
}

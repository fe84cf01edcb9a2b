import { useTranslation } from "react-i18next";
import { useNeeds } from "./useNeeds";
import "./badge.css";

const READ_EVERY_MS = 30_000;

/** How many things need a person, next to the name of the first screen; empty if nothing does. */
export function NeedsBadge() {
  const { t } = useTranslation("now");
  // Pages that do not follow runs by events show it too, so it is read again by time.
  const { needs, isMore } = useNeeds(READ_EVERY_MS);
  const number = needs?.length ?? 0;
  if (number === 0) return null;
  const shown = `${number}${isMore ? "+" : ""}`;
  return (
    <b className="needs-badge" title={t("needsNumber", { count: number, number: shown })}>
      <i aria-hidden>{shown}</i>
      <i className="unseen">{t("needsNumber", { count: number, number: shown })}</i>
    </b>
  );
}

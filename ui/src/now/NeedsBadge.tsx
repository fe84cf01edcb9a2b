import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { needsOf } from "./needs";
import { failed, late, NEED_MAX, refused } from "./queries";
import "./badge.css";

const READ_EVERY_MS = 30_000;

/** How many things need a person, next to the name of the first screen; empty if nothing does. */
export function NeedsBadge() {
  const { t } = useTranslation("now");
  const project = useProject();
  // Pages that do not follow runs by events show it too, so it is read again by time.
  const runs = useQuery({ ...failed, refetchInterval: READ_EVERY_MS });
  const lates = useQuery(late);
  const commands = useQuery({ ...refused, refetchInterval: READ_EVERY_MS, retry: false });
  const read = {
    failed: runs.data?.items ?? [],
    lateRuns: lates.data?.runs ?? [],
    lateSchedules: lates.data?.schedules ?? [],
    refused: commands.data?.items ?? [],
  };
  const number = needsOf(read, project).length;
  if (number === 0) return null;
  const isMore = Object.values(read).some((each) => each.length >= NEED_MAX);
  const shown = `${number}${isMore ? "+" : ""}`;
  return (
    <b className="needs-badge" title={t("needsNumber", { count: number, number: shown })}>
      <i aria-hidden>{shown}</i>
      <i className="unseen">{t("needsNumber", { count: number, number: shown })}</i>
    </b>
  );
}

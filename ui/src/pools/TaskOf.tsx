import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";

/** A task of a run, as a link; one of a project that one may not see has no name. */
export function TaskOf({ task }: { task: Schemas["TaskOfRunAnswer"] | null | undefined }) {
  const { t } = useTranslation("pools");
  if (!task) return <span className="mute">{t("hidden")}</span>;
  return (
    <>
      <Link to="/runs/$id" params={{ id: task.run_id }} search={{ task: task.name }} title={task.name}>
        {task.name}
      </Link>{" "}
      <span className="mute">
        {t("ofRun", { workflow: task.workflow ?? "–", run: task.run_id })}
        {task.attempt > 1 && ` ${t("attempt", { attempt: task.attempt })}`}
      </span>
    </>
  );
}

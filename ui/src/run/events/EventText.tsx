import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { RunLink } from "@/parts/Links";

/** An event of a run as a sentence. */
export function EventText({ event }: { event: Schemas["StoryEventAnswer"] }) {
  const { t } = useTranslation("run");
  const type = event.command_type ?? "";
  const [slot, total] = (event.slot ?? "").split("/");
  const said = t(`event.${event.kind}`, {
    command: event.command_id,
    what: t(`trigger.${type}`, { defaultValue: type }),
    by: event.by ?? "",
    node: event.node ?? event.master_id ?? event.worker_id ?? "?",
    task: event.task,
    child: event.child_id,
    workflow: event.workflow,
    state: t(`parts:state.${event.state ?? "NOT_BEGUN"}`),
    context: event.kind === "ASKED" && event.by == null ? "nobody" : undefined,
  });
  return (
    <>
      {said}
      {total !== undefined && (event.kind === "STARTED" || event.kind === "HANDLED") && (
        <span className="mute">{t("slot", { slot, total })}</span>
      )}
      {(event.attempt ?? 1) > 1 && <span className="mute"> · {t("attemptNo", { number: event.attempt })}</span>}
      {event.reason && <span className="soft">: {event.reason}</span>}{" "}
      {event.child_id && <RunLink id={event.child_id}>{t("open")}</RunLink>}
      {event.kind === "TASK_ENDED" && event.task && (
        <Link to="." search={{ tab: "logs", task: event.task, attempt: event.task_id ?? undefined }}>
          {t("log")}
        </Link>
      )}
    </>
  );
}

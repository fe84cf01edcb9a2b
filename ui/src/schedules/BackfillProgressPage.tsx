import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useTopics } from "@/live/eventSource";
import { Answer } from "@/parts/Answer";
import { BackfillState } from "./BackfillState";
import { backfillOf } from "./queries";
import "@/forms/forms.css";
import "./schedules.css";

/** How far a backfill is, with what can be done about it. */
export function BackfillProgressPage() {
  const { t } = useTranslation("schedules");
  const { id = "" } = useParams({ strict: false });
  useTopics("runs", "queue");
  return (
    <div className="page">
      <div className="page-head">
        <h1>
          <Link to="/schedules" search={{}}>
            {t("title")}
          </Link>{" "}
          /{" "}
          <Link to="/schedules/backfill" search={{}}>
            {t("backfill")}
          </Link>{" "}
          / {id}
        </h1>
      </div>
      <Answer of={useQuery(backfillOf(id))}>{(asked) => <BackfillState id={id} asked={asked} />}</Answer>
    </div>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useTopics } from "@/live/eventSource";
import { Answer } from "@/parts/Answer";
import { ErrorCommands } from "./ErrorCommands";
import { GroupsWaiting } from "./GroupsWaiting";
import { queue } from "./queries";
import { WaitingCommands } from "./WaitingCommands";
import "@/forms/forms.css";
import "./queue.css";

/** What waits, and what could not be handled. */
export function QueuePage() {
  const { t } = useTranslation("queue");
  useTopics("queue", "cluster");
  const found = useQuery(queue);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{t("title")}</h1>
      </div>
      <Answer of={found}>
        {(shown) => (
          <>
            <WaitingCommands queue={shown} />
            <GroupsWaiting queue={shown} />
          </>
        )}
      </Answer>
      <ErrorCommands />
    </div>
  );
}

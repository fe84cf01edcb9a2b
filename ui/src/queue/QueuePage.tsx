import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useTopics } from "@/live/eventSource";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { duration } from "@/parts/time";
import { ErrorCommands } from "./ErrorCommands";
import { type Queue, queue } from "./queries";
import { WaitingCommands } from "./WaitingCommands";
import { whyTasksWait } from "./whyNotYet";
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

/** Tasks that wait for a worker, by group: with how many places there are. */
function GroupsWaiting({ queue }: { queue: Queue }) {
  const { t } = useTranslation("queue");
  const waiting = queue.worker_groups.reduce((sum, group) => sum + (group.waiting ?? 0), 0);
  return (
    <Panel title={t("tasks")} remark={String(waiting)}>
      {queue.worker_groups.length === 0 ? (
        <Empty title={t("noTaskWaits")}>{t("noTaskRuns")}</Empty>
      ) : (
        <Table
          heads={[
            t("group"),
            { num: t("waiting") },
            { num: t("oldest") },
            { num: t("running") },
            { num: t("freePlaces") },
            { num: t("workers") },
            t("whyNotYet"),
          ]}
        >
          {queue.worker_groups.map((group) => (
            <tr key={group.worker_group}>
              <td>
                <Link to="/attempts" search={{ worker_group: group.worker_group, state: ["QUEUED"] }}>
                  {group.worker_group}
                </Link>
              </td>
              <td className="num">{group.waiting}</td>
              <td className="num">{group.oldest_s == null ? "–" : duration(group.oldest_s)}</td>
              <td className="num">{group.running}</td>
              <td className="num">{t("freeOf", { free: group.free_places, places: group.places })}</td>
              <td className="num">{group.workers}</td>
              <td className="wide">{t(whyTasksWait(group), { group: group.worker_group })}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

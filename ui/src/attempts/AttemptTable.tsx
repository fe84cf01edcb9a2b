import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { workers } from "@/cluster/queries";
import { CopyId, RunLink } from "@/parts/Links";
import { reported } from "@/parts/report";
import { State } from "@/parts/State";
import { Table } from "@/parts/Table";
import { Elapsed, Moment } from "@/parts/Time";
import { duration } from "@/parts/time";
import type { Attempt } from "./queries";

interface Props {
  attempts: Attempt[];
  /** The row that the keys are about. */
  at: string | null;
  onGo: (id: string) => void;
}

/** Attempts as rows: of which task and run, which attempt it is, where and how long it ran, and why it failed. */
export function AttemptTable({ attempts, at, onGo }: Props) {
  const { t } = useTranslation("attempts");
  const known = useQuery(workers);
  const names = new Map(known.data?.items.map((each) => [each.epoch, each.name]));
  return (
    <Table
      className="list attempts"
      chosenAs="attempts"
      heads={[
        t("task"),
        t("state"),
        { "opt-2": t("type") },
        t("run"),
        { "opt-3": t("workflow") },
        { "num opt-2": t("attempt") },
        { num: t("queued") },
        { "num opt-3": t("waited") },
        { num: t("took") },
        { "opt-3": t("worker") },
        t("why"),
      ]}
    >
      {attempts.map((each) => (
        <tr
          key={each.id}
          data-row={each.id}
          data-at={at === each.id}
          onClick={(event) => !(event.target as HTMLElement).closest("a, button") && onGo(each.id)}
        >
          <td className="name">
            <Link to="/runs/$id" params={{ id: each.run_id }} search={{ tab: "logs", task: each.name }}>
              {each.name}
            </Link>
          </td>
          <td className="of-state">
            <State state={each.state} />
          </td>
          <td className="opt-2 soft">{each.type}</td>
          <td className="id">
            <RunLink id={each.run_id} /> <CopyId id={each.run_id} />
          </td>
          <td className="opt-3">{each.workflow ?? <span className="mute">{t("workflowGone")}</span>}</td>
          <td className="num opt-2">{t("ofRetries", { attempt: each.attempt, all: each.retries + 1 })}</td>
          <td className="num of-start">
            <Moment at={each.queued_at} />
          </td>
          <td className="num opt-3">{waited(each)}</td>
          <td className="num of-took">
            <AttemptTook attempt={each} />
          </td>
          <td className="opt-3 soft">
            {each.worker_id ? (names.get(each.worker_id) ?? each.worker) : each.worker_group}
          </td>
          <td className="wide soft of-why" title={each.reason ?? undefined}>
            {each.reason ?? (each.progress ? reported(each.progress) : "")}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** How long it was queued before a worker began it. */
function waited({ queued_at, started_at }: Attempt): string {
  return started_at ? duration((Date.parse(started_at) - Date.parse(queued_at)) / 1000) : "";
}

function AttemptTook({ attempt }: { attempt: Attempt }) {
  if (attempt.took_s !== null && attempt.took_s !== undefined && attempt.ended_at)
    return <>{duration(attempt.took_s)}</>;
  return attempt.started_at && attempt.state === "RUNNING_EXECUTION" ? <Elapsed since={attempt.started_at} /> : null;
}

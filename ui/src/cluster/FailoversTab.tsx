import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useTopics } from "@/live/eventSource";
import { Answer, Empty, Failure, Skeleton } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Moment } from "@/parts/Time";
import { receipt } from "./queries";
import { slotChanges } from "./slots/feed";
import { markOf } from "./slots/marks";
import { Cost } from "./slots/Receipt";
import { type Change, isEnd } from "./slots/story";
import { changeWords } from "./slots/words";

const SHOWN_MAX = 200;
const LEAD_MS = 4_000;

/** How the slots changed within 24 hours, newest first; what the end of a master cost; and its replay. */
export function FailoversTab() {
  const { t } = useTranslation("cluster");
  useTopics("cluster");
  const found = useQuery(slotChanges);
  const [isAll, setIsAll] = useState(false);
  return (
    <Panel
      title={t("tab.failovers")}
      remark={t("lastDay")}
      end={
        <label className="line">
          <input type="checkbox" checked={isAll} onChange={(event) => setIsAll(event.currentTarget.checked)} />
          {t("withJoins")}
        </label>
      }
    >
      <Answer of={found}>
        {(changes) => {
          const shown = changes.filter((each) => isAll || markOf(each) !== "NORMAL").reverse();
          if (shown.length === 0)
            return <Empty title={t("noFailover")}>{t("lastChange", { number: changes.at(-1)?.number ?? 0 })}</Empty>;
          return (
            <ol className="failovers">
              {shown.slice(0, SHOWN_MAX).map((each) => (
                <Failover key={each.number} change={each} />
              ))}
            </ol>
          );
        }}
      </Answer>
    </Panel>
  );
}

function Failover({ change }: { change: Change }) {
  const { t } = useTranslation("cluster");
  const hasEnd = change.changes.some((each) => isEnd(each.reason));
  const cost = useQuery({ ...receipt(change.number), enabled: hasEnd });
  return (
    <li>
      <div className="line">
        <i className="st" data-s={markOf(change)} aria-hidden />
        <b>{changeWords(change, t)}</b>
        <span className="mute">
          <Moment at={new Date(change.atMs).toISOString()} /> · {t("changeNumber", { number: change.number })} ·{" "}
          {t("slotsCount", { count: change.members.length })}
        </span>
        <Link className="end" to="/cluster" search={{ at: new Date(change.atMs - LEAD_MS).toISOString(), span: "24h" }}>
          {t("replayThis")}
        </Link>
      </div>
      {hasEnd && cost.isPending && <Skeleton lines={1} />}
      {cost.error && <Failure error={cost.error} again={() => void cost.refetch()} />}
      {cost.data?.masters.map((each) => (
        <Cost key={each.epoch} master={each} />
      ))}
    </li>
  );
}

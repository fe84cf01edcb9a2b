import { useInfiniteQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Answer, Empty } from "@/parts/Answer";
import { More } from "@/parts/More";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Ago } from "@/parts/Time";
import { count } from "@/parts/time";
import { lineOf, type PoolContent, type WaitingTask } from "./queries";
import { TaskOf } from "./TaskOf";

/** Who waits for resources of a pool, in the order in which they get them. */
export function Line({ pool }: { pool: PoolContent }) {
  const { t } = useTranslation("pools");
  const found = useInfiniteQuery(lineOf(pool.name));
  return (
    <Panel title={t("line")} remark={count(pool.waiting)}>
      <Answer of={found} empty={<Empty title={t("nobodyWaits")} />}>
        {({ items }) => (
          <Table
            className="dense"
            hasFocus
            heads={[
              { num: t("place") },
              t("task"),
              { num: t("needs") },
              t("needsBesides"),
              t("priority"),
              t("group"),
              t("waitsSince"),
            ]}
          >
            {items.map((each) => (
              <tr key={each.place}>
                <td className="num">{count(each.place)}</td>
                <td className="cut of-task">
                  <TaskOf task={each.task} />
                </td>
                <td className="num">{count(each.needed)}</td>
                <td>{besides(each, pool.name)}</td>
                <td>
                  {each.priority} · {each.task_priority}
                </td>
                <td>{each.worker_group}</td>
                <td>{each.queued_at && <Ago at={each.queued_at} />}</td>
              </tr>
            ))}
          </Table>
        )}
      </Answer>
      <More of={found} word={t("more")} />
    </Panel>
  );
}

/** What it needs of other pools: it begins only when it gets all at once. */
function besides(waiting: WaitingTask, pool: string): string {
  const others = Object.entries(waiting.needs).filter(([name]) => name !== pool);
  return others.map(([name, number]) => `${number} × ${name}`).join(", ");
}

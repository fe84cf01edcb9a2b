import { useTranslation } from "react-i18next";
import { Mark } from "@/parts/State";
import { Table } from "@/parts/Table";
import { duration } from "@/parts/time";
import { Bar } from "./Bar";
import { stateOf } from "./Drain";
import type { Group, Node } from "./queries";

/** The worker groups: who serves them, how full they are, what waits for them. */
export function GroupsTable({ groups, workers }: { groups: Group[]; workers: Node[] }) {
  const { t } = useTranslation("cluster");
  return (
    <Table
      className="dense"
      hasFocus
      heads={[t("group"), t("workers"), t("placesUsed"), { num: t("tasksWait") }, { num: t("oldest") }]}
    >
      {groups.map((group) => {
        const own = workers.filter((each) => each.groups?.includes(group.worker_group));
        const places = group.places ?? 0;
        const used = own.reduce((sum, each) => sum + (each.running ?? 0), 0);
        return (
          <tr key={group.worker_group}>
            <td>
              <b>{group.worker_group}</b>
            </td>
            <td>
              {own.length === 0 ? (
                <span className="bad">{t("noneAlive")}</span>
              ) : (
                <span className="nodes">
                  {own.slice(0, 6).map((each) => (
                    <span key={each.epoch}>
                      <Mark state={stateOf(each)} /> {each.name}
                    </span>
                  ))}
                  {own.length > 6 && <span className="mute">+{own.length - 6}</span>}
                </span>
              )}
            </td>
            <td>
              <Bar used={used} most={places} />
            </td>
            <td className="num">{group.waiting ?? 0}</td>
            <td className="num">{group.oldest_s == null ? "–" : duration(group.oldest_s)}</td>
          </tr>
        );
      })}
    </Table>
  );
}

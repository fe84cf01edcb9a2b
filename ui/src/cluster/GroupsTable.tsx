import { useTranslation } from "react-i18next";
import { ScrollX } from "@/parts/ScrollX";
import { Mark } from "@/parts/State";
import { duration } from "@/parts/time";
import { Bar } from "./Bar";
import { stateOf } from "./Drain";
import type { Group, Node } from "./queries";

/** The worker groups: who serves them, how full they are, what waits for them. */
export function GroupsTable({ groups, workers }: { groups: Group[]; workers: Node[] }) {
  const { t } = useTranslation("cluster");
  return (
    <ScrollX>
      <table className="dense">
        <thead>
          <tr>
            <th>{t("group")}</th>
            <th>{t("workers")}</th>
            <th>{t("placesUsed")}</th>
            <th className="num">{t("tasksWait")}</th>
            <th className="num">{t("oldest")}</th>
          </tr>
        </thead>
        <tbody>
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
        </tbody>
      </table>
    </ScrollX>
  );
}

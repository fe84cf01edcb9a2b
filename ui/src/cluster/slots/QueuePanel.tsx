import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { ScrollX } from "@/parts/ScrollX";
import { coarse } from "@/parts/Time";
import { queue } from "../queries";
import { AskCommand } from "./AskCommand";
import { type Story, usualWaitMs } from "./story";

/** What waits for the masters, and where any command belongs. */
export function QueuePanel({ usual, ms }: { usual: Story | null; ms: number }) {
  const { t } = useTranslation("cluster");
  const found = useQuery(queue);
  const waiting = found.data?.slots.reduce((sum, each) => sum + each.waiting, 0);
  const waitMs = usual === null ? null : usualWaitMs(usual, ms);
  return (
    <Panel
      title={t("queue")}
      remark={
        waiting === undefined ? undefined : waiting === 0 ? t("nothingWaits") : t("commandsWait", { count: waiting })
      }
      end={<Link to="/queue">{t("open")}</Link>}
    >
      <AskCommand />
      <Answer of={found} lines={2}>
        {(data) =>
          data.commands.length === 0 ? (
            <p className="usual soft">
              {waitMs === null ? t("noneTakenLately") : t("usualWait", { ms: Math.round(waitMs) })}
            </p>
          ) : (
            <ScrollX>
              <table className="dense">
                <tbody>
                  {data.commands.map((each) => (
                    <tr key={each.id}>
                      <td className="mono">
                        <Link
                          to="/cluster"
                          search={(before: Record<string, unknown>) => ({ ...before, command: each.id })}
                        >
                          {each.id}
                        </Link>
                      </td>
                      <td className="wide">
                        {t(`type.${each.type}`, { defaultValue: each.type })}{" "}
                        <span className="mute">{each.workflow}</span>
                      </td>
                      <td>{each.slot != null && t("slotNumber", { slot: each.slot })}</td>
                      <td className="num">{each.age_s != null && coarse(each.age_s)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollX>
          )
        }
      </Answer>
    </Panel>
  );
}

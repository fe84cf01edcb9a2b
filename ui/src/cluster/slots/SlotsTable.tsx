import { useTranslation } from "react-i18next";
import { Heads } from "@/parts/Table";
import { duration } from "@/parts/time";
import type { Live } from "./feed";
import { mastersAt, type Story } from "./story";

/** The same as the picture in words and numbers. */
export function SlotsTable({ story, ms, live }: { story: Story; ms: number; live: Live | undefined }) {
  const { t } = useTranslation("cluster");
  return (
    <table className="dense">
      <caption className="unseen">{t("slotsLive")}</caption>
      <Heads
        of={[
          { num: t("slot") },
          t("master"),
          t("state"),
          { num: t("runs") },
          { num: t("perSecond") },
          { num: t("waiting") },
          { num: t("oldest") },
          t("believesHead"),
        ]}
      />
      <tbody>
        {mastersAt(story, ms).map((master) => {
          const node = live?.frame.slots.masters.find((each) => each.epoch === master.epoch);
          const waits = live?.frame.waiting.find((each) => each.slot === master.slot);
          const taken = live?.frame.claims.find((each) => each.epoch === master.epoch)?.per_s;
          return (
            <tr key={master.epoch}>
              <td className="num">{master.slot ?? "–"}</td>
              <td>
                <b>{master.name}</b> <span className="mute">{node?.address}</span>
              </td>
              <td>
                {master.gone === null ? t(node?.status === "BUSY" ? "gone.BUSY" : "works") : t(`gone.${master.gone}`)}
              </td>
              <td className="num">{node?.running ?? "–"}</td>
              <td className="num">{(taken ?? master.perS).toFixed(1)}</td>
              <td className="num">{waits?.waiting ?? master.waiting}</td>
              <td className="num">{waits?.oldest_s == null ? "–" : duration(waits.oldest_s)}</td>
              <td>{node?.believes ?? "–"}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

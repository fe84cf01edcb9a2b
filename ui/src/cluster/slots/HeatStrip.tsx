import { useTranslation } from "react-i18next";
import type { Live } from "./feed";
import { mastersAt, type Story } from "./story";

/** One cell a slot, for more masters than have room for lanes: the darker, the more waits or is taken there. */
export function HeatStrip({ story, ms, live }: { story: Story; ms: number; live: Live | undefined }) {
  const { t } = useTranslation("cluster");
  const masters = mastersAt(story, ms).map((master) => ({
    ...master,
    waiting: live?.frame.waiting.find((each) => each.slot === master.slot)?.waiting ?? master.waiting,
    perS: live?.frame.claims.find((each) => each.epoch === master.epoch)?.per_s ?? master.perS,
  }));
  const most = Math.max(1, ...masters.map((each) => each.perS));
  return (
    <ul className="heat" aria-label={t("slotsLive")}>
      {masters.map((each) => {
        const said = `${each.name}: ${each.slot === null ? t(`gone.${each.gone ?? "LOST"}`) : t("slotOf", { slot: each.slot, total: each.total })}, ${each.perS.toFixed(1)}/s, ${t("waitingCount", { count: each.waiting })}`;
        return (
          <li
            key={each.epoch}
            title={said}
            aria-label={said}
            data-waits={each.waiting > 0 || undefined}
            data-gone={each.gone !== null || undefined}
            ref={(cell) => cell?.style.setProperty("--heat", `${Math.round((each.perS / most) * 70)}%`)}
          >
            <b>{each.slot ?? "✝"}</b>
            <span className="cut">{each.name}</span>
            <span className="num">{each.waiting > 0 ? each.waiting : ""}</span>
          </li>
        );
      })}
    </ul>
  );
}

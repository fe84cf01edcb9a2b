import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { duration } from "@/parts/time";
import { useLateAfter } from "./late";
import type { Row } from "./picture";

interface Props {
  row: Row;
  /** What it says of itself now; undefined in a replay, and when it is gone. */
  node: Schemas["MasterAnswer"] | undefined;
  /** The most runs that any master has: the bar shows the balance between them. */
  largest: number;
  /** How many of its runs others got. */
  taken: number | undefined;
}

/** A master: its slot, how much it takes, and what it drives. */
export function MasterCard({ row, node, largest, taken }: Props) {
  const { t } = useTranslation("cluster");
  const lateS = useLateAfter();
  const isDead = row.gone === "FENCED" || row.gone === "LOST";
  const isLate = row.gone === null && node !== undefined && node.beat_age_s > lateS;
  const isBusy = row.gone === "BUSY" || node?.status === "BUSY";
  const state = isDead ? "DEAD" : row.gone === "LEFT" ? "STOP" : isLate || isBusy ? "BUSY" : "NORMAL";
  const said =
    row.gone !== null
      ? t(`gone.${row.gone}`)
      : isLate
        ? t("noBeat", { time: duration(node.beat_age_s) })
        : t("slotOf", { slot: row.slot, total: row.total });
  const place = (card: HTMLElement | null) => {
    card?.style.setProperty("--y", `${row.y}px`);
    card?.style.setProperty("--share", String(row.share));
    card?.style.setProperty("--runs", `${node === undefined ? 0 : ((node.running ?? 0) / largest) * 90}%`);
  };
  return (
    <article
      className="card"
      ref={place}
      data-gone={isDead ? "dead" : row.gone === null ? undefined : "left"}
      data-late={isLate || isBusy || undefined}
      aria-label={t("masterNamed", { name: row.name })}
    >
      <div className="a">
        <i className="st" data-s={state} aria-hidden />
        <b className="cut">{row.name}</b>
        <span className="mute addr">{node?.address}</span>
        <span className="slot">{said}</span>
        {row.gone === null && (
          <span className="rate">
            {row.perS.toFixed(1)}
            <small>/s</small>
          </span>
        )}
      </div>
      <div className="b">
        <span className={node === undefined ? "" : "bar"}>
          <i />
        </span>
        <span className="runs" title={node && t("runsOf", { runs: node.running, most: node.capacity })}>
          {isDead && taken !== undefined
            ? t("runsOfDead", { count: taken })
            : node !== undefined && t("runsCount", { count: node.running ?? 0 })}
        </span>
        <span className="wait">{row.gone === null && t("waitingCount", { count: row.waiting })}</span>
      </div>
      {isDead && (
        <svg className="crack" viewBox="0 0 40 68" aria-hidden="true">
          <path className="gap" d="M22 0 13 17l11 8L9 44l10 6-7 18" />
          <path className="edge" d="M19 0 10 17l11 8L6 44l10 6-7 18M25 0l-9 17 11 8-15 19 10 6-7 18" />
        </svg>
      )}
    </article>
  );
}

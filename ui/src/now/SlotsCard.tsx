import { IconEye } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { slots } from "@/cluster/queries";
import { LinkAct } from "@/parts/LinkAct";

const LANES_MAX = 3;
const LANE_PX = 40;

/** What is special about Shoal, in one picture of the masters that run here now. */
export function SlotsCard() {
  const { t } = useTranslation("now");
  const found = useQuery(slots);
  const total = found.data?.total ?? 1;
  const masters = (found.data?.masters ?? []).filter((each) => each.slot != null).slice(0, LANES_MAX);
  const height = (masters.length + 1) * LANE_PX;
  const middle = (lane: number) => (lane + 0.5) * LANE_PX;
  return (
    <section className="panel watch" aria-label={t("watchSlots")}>
      <h2>{t("watchSlots")}</h2>
      <p className="soft">{t("slotsHint", { count: total })}</p>
      <svg viewBox={`0 0 420 ${height}`} aria-hidden>
        {[...masters, null].map((master, lane) => {
          const y = middle(lane);
          const from = height / 2;
          return (
            <g key={master?.epoch ?? "next"} className={master === null ? "next" : ""}>
              <path className="lane" d={`M72 ${from}C120 ${from} 110 ${y} 160 ${y}H300`} />
              {master !== null && (
                <text x="170" y={y - 9} className="mod">
                  id mod {total} = {master.slot}
                </text>
              )}
              <rect x="300" y={y - 14} width="116" height="28" rx="8" />
              {master !== null && <circle cx="316" cy={y} r="4.5" />}
              <text x={master === null ? 316 : 328} y={y + 4} className="who">
                {master === null ? `m${total + 1}?` : `${master.name}  ${master.slot}/${total}`}
              </text>
            </g>
          );
        })}
        <text x="0" y={height / 2 + 4} className="who">
          {t("commands")}
        </text>
      </svg>
      <div className="line wrap">
        <LinkAct
          to="/cluster"
          search={{}}
          size="xs"
          leftSection={<IconEye size={14} stroke={1.5} />}
          word={t("open")}
        />
        <code className="shell">shoal master list</code>
      </div>
    </section>
  );
}

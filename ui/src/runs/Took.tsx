import { useTranslation } from "react-i18next";
import { Elapsed } from "@/parts/Time";
import { duration } from "@/parts/time";
import type { Run } from "./queries";
import { ACTIVE } from "./runFilter";

/** The median stands at this part of the bar, so that longer runs have room. */
const MEDIAN_AT = 0.6;
/** A run is marked as long from this many times the median on. */
const LONG = 1.5;

/** The time from the start of a run to its end, and a bar against the median of the same for its workflow. */
export function Took({ run, usualS }: { run: Run; usualS: number | null | undefined }) {
  const { t } = useTranslation("runs");
  const isActive = ACTIVE.includes(run.state);
  const tookS = isActive ? (Date.now() - Date.parse(run.started_at)) / 1000 : run.elapsed_s;
  const share = usualS ? Math.min(1, (tookS / usualS) * MEDIAN_AT) : null;
  return (
    <span className="took">
      {isActive ? <Elapsed since={run.started_at} /> : duration(run.elapsed_s)}
      {share !== null && usualS ? (
        <span
          className="took-bar"
          data-long={tookS > LONG * usualS}
          title={t("median", { time: duration(usualS) })}
          role="img"
          aria-label={t("median", { time: duration(usualS) })}
        >
          <i style={{ width: `${share * 100}%` }} />
        </span>
      ) : (
        <span className="took-bar none" />
      )}
    </span>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { coarse, useMinute } from "@/parts/Time";
import { clock, dayOf, exactMoment } from "@/parts/time";
import { fires } from "./queries";
import { marksOf } from "./timeline";

const SHOWN = 6;
const TICKS = [0, 0.25, 0.5, 0.75, 1];

/** What fires next: on a line for the next hour, and as a list. */
export function Next() {
  const { t, i18n } = useTranslation("now");
  const found = useQuery(fires(useProject()));
  // Nothing on the line is finer.
  const now = useMinute();
  return (
    <Panel
      title={t("next")}
      remark={found.data && t("inHour", { count: marksOf(found.data.fires, now).length })}
      end={
        <Link to="/schedules" search={{}}>
          {t("schedules")}
        </Link>
      }
    >
      <Answer
        of={found}
        isEmpty={(next) => next.fires.length === 0}
        empty={
          <Empty title={found.data?.schedules === 0 ? t("noSchedule") : t("noFire")}>
            <p>
              {found.data?.faults[0]}{" "}
              <Link to="/schedules" search={{}}>
                {t("toSchedules")}
              </Link>
            </p>
          </Empty>
        }
      >
        {(next) => {
          const marks = marksOf(next.fires, now);
          return (
            <>
              {marks.length > 0 && (
                <div className="timeline" aria-hidden>
                  {marks.map((mark, place) => (
                    <span key={mark.key} style={{ left: `${mark.share * 100}%` }}>
                      <em>{mark.label}</em>
                      <i data-first={place === 0} />
                    </span>
                  ))}
                  {TICKS.map((tick) => (
                    <small key={tick} style={{ left: `${tick * 100}%` }} data-at={tick}>
                      {tick === 0 ? t("nowTick") : clock(now + tick * 3_600_000, i18n.language)}
                    </small>
                  ))}
                </div>
              )}
              <ul className="fires">
                {next.fires.slice(0, SHOWN).map((fire) => (
                  <li key={`${fire.schedule_id} ${fire.utc}`}>
                    <time dateTime={fire.utc} title={exactMoment(fire.utc, i18n.language)}>
                      {clock(fire.utc, i18n.language, dayOf(new Date(fire.utc)) !== dayOf(new Date(now)))}
                    </time>
                    <Link className="cut" to="/schedules" search={{ row: fire.schedule_id ?? undefined }}>
                      {fire.workflow}
                    </Link>
                    <span className="soft cut">{fire.time_zone}</span>
                    <span className="num mute">
                      {t("in", { time: coarse(Math.max(0, (Date.parse(fire.utc) - now) / 1000)) })}
                    </span>
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </Answer>
    </Panel>
  );
}

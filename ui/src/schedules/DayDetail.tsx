import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { State } from "@/parts/State";
import { shownZone } from "@/parts/time";
import { clockOf, countOf } from "./day";
import { dayInWords } from "./days";
import type { Day } from "./queries";

interface Props {
  day: Day | undefined;
  /** When the next day begins. */
  until: string | undefined;
  isComplete: boolean;
}

/** The chosen day: for each schedule how its runs ended, and when it fires. */
export function DayDetail({ day, until, isComplete }: Props) {
  const { t, i18n } = useTranslation("schedules");
  if (day === undefined) return null;
  return (
    <div className="day-detail" aria-live="polite">
      <h3>{dayInWords(day.day, i18n.language, { weekday: "long", day: "numeric", month: "long" })}</h3>
      {day.clock_change && (
        <p className="clock-change">
          <span className="tag draft">{t("hoursOfDay", { hours: day.day_h ?? "" })}</span> {day.clock_change}
        </p>
      )}
      {day.schedules.length === 0 && <p className="mute">{t("dayEmpty")}</p>}
      <ul>
        {day.schedules.map((each) => (
          <li key={each.schedule_id}>
            <div className="line">
              <Link
                className="cut"
                to="/runs"
                search={{ workflow: each.workflow ?? undefined, started_after: day.begins_at, started_before: until }}
              >
                {each.workflow ?? each.schedule_id}
              </Link>
              <span className="grow" />
              {Object.entries(each.states).map(([state, count]) => (
                <span key={state} className="line">
                  <State state={state} /> {count}
                </span>
              ))}
            </div>
            {each.fires.length > 0 && (
              <p className="mute">
                {each.fires.map((fire) => clockOf(fire.utc, shownZone())).join(" · ")}
                {(each.more ?? 0) > 0 &&
                  ` ${t("more", { number: `${each.more}${each.more_is_least === true ? "+" : ""}` })}`}
              </p>
            )}
            {each.fires.length === 0 && countOf(each.states) === 0 && <p className="mute">{t("dayEmpty")}</p>}
          </li>
        ))}
      </ul>
      {!isComplete && <p className="mute">{t("notAll")}</p>}
    </div>
  );
}

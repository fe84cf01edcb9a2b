import { useTranslation } from "react-i18next";
import { styleOf } from "@/parts/State";
import { countOf, firesOf, firstFireOf } from "./day";
import { dayInWords } from "./days";
import type { Day } from "./queries";

interface Props {
  day: Day;
  today: string;
  isChosen: boolean;
  onChoose: () => void;
}

/** A day: whose it is, its results as a bar in the colours of states, how often it fires, and a changed clock. */
export function DayCell({ day, today, isChosen, onChoose }: Props) {
  const { t, i18n } = useTranslation(["schedules", "parts"]);
  const states = Object.entries(day.states).filter(([, count]) => count > 0);
  const ended = countOf(day.states);
  const { fires, isLeast } = firesOf(day);
  const first = firstFireOf(day);
  const names = [...new Set(day.schedules.flatMap((each) => each.workflow ?? []))];
  const said = [
    dayInWords(day.day, i18n.language, { weekday: "long", day: "numeric", month: "long" }),
    ...states.map(([state, count]) => `${count} ${t(`parts:state.${state}`)}`),
    ...(fires > 0 ? [t("firesToCome", { count: fires, number: `${fires}${isLeast ? "+" : ""}` })] : []),
    ...names,
    ...(day.day_h ? [t("hoursOfDay", { hours: day.day_h })] : []),
  ].join(", ");
  const isFailed = states.some(([state]) => state === "FAILURE");
  return (
    <button
      type="button"
      className="day"
      aria-pressed={isChosen}
      aria-current={day.day === today ? "date" : undefined}
      title={said}
      onClick={onChoose}
    >
      <span className="unseen">{said}</span>
      <span className="day-head" aria-hidden>
        <span className="day-number">
          {dayInWords(
            day.day,
            i18n.language,
            day.day.endsWith("-01") ? { day: "numeric", month: "short" } : { day: "numeric" },
          )}
        </span>
        {day.day_h != null && <span className="tag draft">{t("hoursShort", { hours: day.day_h })}</span>}
      </span>
      <span className="day-said" aria-hidden>
        {ended > 0 && (
          <span className="day-ended">
            <i className="st" data-s={isFailed ? "FAILURE" : styleOf(states[0]?.[0] ?? "")} /> {ended}
          </span>
        )}
        {fires > 0 && (
          <span className="day-fires">{fires === 1 && first !== null ? first : `${fires}${isLeast ? "+" : ""} ×`}</span>
        )}
      </span>
      <span className="day-names cut" aria-hidden>
        {names.length > 1 ? `${names[0]} +${names.length - 1}` : names[0]}
      </span>
      <span className="day-bar" aria-hidden>
        {states.map(([state, count]) => (
          <i key={state} data-s={styleOf(state)} ref={(bar) => bar?.style.setProperty("flex-grow", String(count))} />
        ))}
      </span>
    </button>
  );
}

import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { SmallAct } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { IconAct } from "@/parts/IconAct";
import { dayOf, shownZone } from "@/parts/time";
import { DayCell } from "./DayCell";
import { DayDetail } from "./DayDetail";
import { DAYS_SHOWN, dayInWords, mondayOf, plusDays } from "./days";
import { calendarOf, type Filter } from "./queries";
import type { Search } from "./search";

const WEEKS_BEFORE = 2;
const WEEK = 7;

interface Props {
  search: Search;
  filter: Filter;
  onChange: (to: Search, replace?: boolean) => void;
}

/** Five weeks: how past fire times ended, and the future ones. Details of the chosen day are next to them. */
export function Calendar({ search, filter, onChange }: Props) {
  const { t, i18n } = useTranslation("schedules");
  const today = dayOf(new Date());
  const usual = plusDays(mondayOf(today), -WEEKS_BEFORE * WEEK);
  const from = search.from === undefined ? usual : mondayOf(search.from);
  const to = plusDays(from, DAYS_SHOWN - 1);
  const { project, workflow } = filter;
  const found = useQuery(calendarOf(from, to, { ...(project && { project }), ...(workflow && { workflow }) }));
  const isToday = from <= today && today <= to;
  const day = search.day !== undefined && from <= search.day && search.day <= to ? search.day : isToday ? today : from;
  const name = { day: "numeric", month: "short", year: "numeric" } as const;
  const shift = (days: number) => onChange({ from: plusDays(from, days), day: undefined });
  return (
    <section className="panel calendar">
      <header>
        <h2>{t("calendar")}</h2>
        <span className="n">
          {dayInWords(from, i18n.language, name)} – {dayInWords(to, i18n.language, name)}
        </span>
        <div className="end">
          <span className="zone">{t("inZone", { zone: shownZone() })}</span>
          <IconAct icon={IconChevronLeft} word={t("earlier")} variant="default" onClick={() => shift(-4 * WEEK)} />
          <SmallAct onClick={() => onChange({ from: undefined, day: undefined })} word={t("today")} />
          <IconAct icon={IconChevronRight} word={t("later")} variant="default" onClick={() => shift(4 * WEEK)} />
        </div>
      </header>
      <Answer of={found} lines={8}>
        {(calendar) => (
          <div className="calendar-body">
            <table className="days">
              <thead>
                <tr>
                  {calendar.days.slice(0, WEEK).map((each) => (
                    <th key={each.day} scope="col">
                      {dayInWords(each.day, i18n.language, { weekday: "short" })}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {weeksOf(calendar.days).map((week) => (
                  <tr key={week[0]?.day}>
                    {week.map((each) => (
                      <td key={each.day}>
                        <DayCell
                          day={each}
                          today={today}
                          isChosen={each.day === day}
                          onChoose={() => onChange({ day: each.day })}
                        />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
            <DayDetail
              day={calendar.days.find((each) => each.day === day)}
              until={calendar.days.find((each) => each.day === plusDays(day, 1))?.begins_at}
              isComplete={calendar.is_complete}
            />
          </div>
        )}
      </Answer>
    </section>
  );
}

function weeksOf<T>(days: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(days.length / WEEK) }, (_, week) => days.slice(week * WEEK, (week + 1) * WEEK));
}

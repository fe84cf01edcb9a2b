import type { UseQueryResult } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Answer } from "@/parts/Answer";
import { Table } from "@/parts/Table";
import { shownZone, TIME_OF_DAY } from "@/parts/time";
import { isRepeating } from "./cron";
import type { Fire } from "./queries";

interface Props {
  of: UseQueryResult<Schemas["Preview"]>;
  zone: string;
  cron: string;
  /** The rule's field says what is wrong with it. */
  isRuleWrong: boolean;
}

/** The next ten times in three zones; days of 23 and 25 hours are marked, with what happens on them. */
export function FireTimes({ of, zone, cron, isRuleWrong }: Props) {
  const { t, i18n } = useTranslation("schedules");
  if (isRuleWrong)
    return (
      <section className="fire-times" aria-label={t("nextTimes")}>
        <h3>{t("nextTimes")}</h3>
        <p className="mute">{t("ruleWrong")}</p>
      </section>
    );
  return (
    <section className="fire-times" aria-label={t("nextTimes")}>
      <h3>{t("nextTimes")}</h3>
      <Answer of={of} lines={6}>
        {({ fires }) => {
          const changed = [...new Set(fires.flatMap((fire) => fire.day_h ?? []))];
          return (
            <>
              <Table
                className="dense"
                heads={[
                  zone,
                  <th key="own">
                    <span title={t("yourZone", { zone: shownZone() })}>{shownZone()}</span>
                  </th>,
                  "UTC",
                ]}
              >
                {fires.map((fire) => (
                  <tr key={fire.utc}>
                    <td>
                      {timeIn(fire, fire.time_zone, i18n.language, true)}
                      {fire.day_h != null && (
                        <span className="tag draft">{t("hoursShort", { hours: fire.day_h })}</span>
                      )}
                    </td>
                    <td>{timeIn(fire, shownZone(), i18n.language)}</td>
                    <td className="mute">{timeIn(fire, "UTC", i18n.language)}</td>
                  </tr>
                ))}
              </Table>
              {fires.length === 0 && <p className="mute">{t("neverFires")}</p>}
              {changed.map((hours) => (
                <p key={hours} className="clock-change">
                  <span className="tag draft">{t("hoursOfDay", { hours })}</span>{" "}
                  {t(`${hours < 24 ? "short" : "long"}Day.${isRepeating(cron) ? "repeating" : "fixed"}`)}
                </p>
              ))}
            </>
          );
        }}
      </Answer>
    </section>
  );
}

function timeIn(fire: Fire, zone: string, language: string, hasWeekday = false): string {
  return new Intl.DateTimeFormat(language, {
    timeZone: zone,
    ...(hasWeekday && { weekday: "short" }),
    day: "2-digit",
    month: "short",
    ...TIME_OF_DAY,
    ...(fire.utc.slice(17, 19) === "00" ? {} : { second: "2-digit" }),
  }).format(new Date(fire.utc));
}

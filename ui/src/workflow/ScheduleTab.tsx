import { Switch } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { changedWorkflow, type Head } from "@/editor/queries";
import { useMay } from "@/login/rights";
import { Answer, Empty, Failure } from "@/parts/Answer";
import { cronWords } from "@/parts/cronWords";
import { Moment } from "@/parts/Time";
import { turn } from "@/schedules/queries";
import { type Schedule, schedulesOf } from "./queries";

/** When this workflow starts by itself, and its next times. */
export function ScheduleTab({ of: { project, name, code } }: { of: Head }) {
  const { t } = useTranslation("workflow");
  const found = useQuery(schedulesOf(project, name));
  const links = (
    <p className="links">
      <Link to="/schedules" search={{ project, workflow: name }}>
        {t("toSchedules")}
      </Link>
      <Link to="/schedules/backfill" search={{ code }}>
        {t("toBackfill")}
      </Link>
    </p>
  );
  return (
    <div className="tab">
      <Answer
        of={found}
        isEmpty={(schedules) => schedules.length === 0}
        empty={
          <section className="panel">
            <Empty title={t("noSchedule")}>
              <p className="mute">{t("noScheduleHelp")}</p>
              {links}
            </Empty>
          </section>
        }
      >
        {(schedules) => (
          <>
            {schedules.map((schedule) => (
              <OneSchedule key={schedule.id} schedule={schedule} project={project} />
            ))}
            {links}
          </>
        )}
      </Answer>
    </div>
  );
}

function OneSchedule({ schedule, project }: { schedule: Schedule; project: string }) {
  const { t, i18n } = useTranslation("workflow");
  const mayTurn = useMay("EDITOR", project);
  const isOn = schedule.state === "ONLINE";
  const turning = useMutation({
    mutationFn: () => turn(schedule, !isOn),
    onSuccess: changedWorkflow,
  });
  return (
    <section className="panel">
      <header>
        <h2>{cronWords(schedule.crontab, i18n.language)}</h2>
        <span className="n">
          <code>{schedule.crontab}</code> · {schedule.time_zone}
        </span>
        {schedule.from_file && <span className="tag">{t("fromFile")}</span>}
        <div className="end">
          <Switch
            checked={isOn}
            label={t(isOn ? "on" : "off")}
            aria-description={!mayTurn ? t("editRole", { project }) : undefined}
            title={!mayTurn ? t("editRole", { project }) : undefined}
            onChange={() => mayTurn && turning.mutate()}
          />
        </div>
      </header>
      {turning.error !== null && <Failure error={turning.error} />}
      {(schedule.problem ?? schedule.fault) && <p className="pad problem">{schedule.problem ?? schedule.fault}</p>}
      <div className="pad">
        {isOn && schedule.next_fires.length > 0 ? (
          <ol className="next-fires" aria-label={t("next")}>
            {schedule.next_fires.map((fire) => (
              <li key={fire.utc}>
                <Moment at={fire.utc} />{" "}
                <span className="mute">
                  {fire.local.slice(0, 16).replace("T", " ")} {fire.time_zone}
                </span>
              </li>
            ))}
          </ol>
        ) : (
          <p className="mute">{t("doesNotFire")}</p>
        )}
      </div>
    </section>
  );
}

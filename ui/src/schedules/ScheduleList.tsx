import { Menu, Switch } from "@mantine/core";
import { IconDots } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match } from "@/api/client";
import { Confirm } from "@/forms/Confirm";
import { Refusal } from "@/forms/Refusal";
import { useWhyNot } from "@/login/rights";
import { Answer, Empty } from "@/parts/Answer";
import { cronWords } from "@/parts/cronWords";
import { IconAct } from "@/parts/IconAct";
import { WorkflowLink } from "@/parts/Links";
import { say, sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { changedSchedules, type Filter, type Schedule, schedulesOf, turn } from "./queries";
import type { Search } from "./search";

interface Props {
  search: Search;
  filter: Filter;
  onChange: (to: Search, replace?: boolean) => void;
}

/** The rules, one a row: what, when in words, next and last, and the switch. */
export function ScheduleList({ search, filter, onChange }: Props) {
  const { t } = useTranslation("schedules");
  const found = useQuery(schedulesOf(filter));
  const wanted = (search.q ?? "").toLowerCase();
  const matches = (each: Schedule) =>
    `${each.workflow} ${each.crontab} ${each.time_zone} ${each.id}`.toLowerCase().includes(wanted);
  return (
    <Panel title={t("rules")} remark={found.data && String(found.data.items.filter(matches).length)}>
      <Answer
        of={found}
        isEmpty={(page) => page.items.filter(matches).length === 0}
        empty={
          <Empty title={t(wanted || search.state || search.workflow ? "noneMatch" : "none")}>{t("noneHelp")}</Empty>
        }
      >
        {(page) => (
          <Table
            heads={[
              t("fires"),
              t("workflow"),
              t("when"),
              t("zone"),
              { num: t("next") },
              { num: t("last") },
              t("misfire"),
              { unseen: t("actions") },
            ]}
          >
            {page.items.filter(matches).map((schedule) => (
              <Row key={schedule.id} schedule={schedule} search={search} onChange={onChange} />
            ))}
          </Table>
        )}
      </Answer>
    </Panel>
  );
}

function Row({ schedule, search, onChange }: { schedule: Schedule; search: Search; onChange: Props["onChange"] }) {
  const { t, i18n } = useTranslation("schedules");
  const whyNot = useWhyNot("EDITOR", schedule.project ?? null);
  const [isDeleting, setIsDeleting] = useState(false);
  const isOn = schedule.state === "ONLINE";
  const name = schedule.workflow ?? t("workflowGone", { code: schedule.workflow_code });
  const turning = useMutation({
    mutationFn: () => turn(schedule, !isOn),
    onSuccess: () => {
      say(t(isOn ? "turnedOff" : "turnedOn", { id: schedule.id, name }));
      return changedSchedules();
    },
  });
  return (
    <>
      <tr aria-selected={search.edit === schedule.id}>
        <td>
          <Switch
            size="xs"
            checked={isOn}
            aria-label={t("turn", { id: schedule.id, name })}
            aria-description={whyNot ?? undefined}
            title={whyNot ?? undefined}
            onChange={() => whyNot === null && turning.mutate()}
            label={t(isOn ? "on" : "off")}
          />
        </td>
        <td>
          {schedule.project && schedule.workflow ? (
            <WorkflowLink project={schedule.project} name={schedule.workflow} />
          ) : (
            <span className="mute">{name}</span>
          )}
        </td>
        <td className="when">
          <span>{cronWords(schedule.crontab, i18n.language)}</span>
          <code className="mute">{schedule.crontab}</code>
          {schedule.from_file && (
            <span className="tag" title={t("fromFileHelp")}>
              {t("fromFile")}
            </span>
          )}
        </td>
        <td>{schedule.time_zone}</td>
        <td className="num">{isOn && schedule.next_fire_at ? <Moment at={schedule.next_fire_at} /> : "–"}</td>
        <td className="num">{schedule.last_fire_at ? <Moment at={schedule.last_fire_at} /> : "–"}</td>
        <td className="soft">{t(`rule.${schedule.misfire}`)}</td>
        <td>
          <Menu position="bottom-end">
            <Menu.Target>
              <IconAct icon={IconDots} word={t("actionsOf", { id: schedule.id, name })} />
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => onChange({ edit: schedule.id }, false)}>
                {t(whyNot === null ? "edit" : "show")}
              </Menu.Item>
              <Menu.Item
                renderRoot={(props) => (
                  <Link to="/schedules/backfill" search={{ code: schedule.workflow_code }} {...props} />
                )}
              >
                {t("backfill")}
              </Menu.Item>
              {schedule.workflow && (
                <Menu.Item onClick={() => onChange({ workflow: schedule.workflow ?? undefined })}>
                  {t("onlyThis")}
                </Menu.Item>
              )}
              <Menu.Divider />
              <Menu.Item
                color="coral"
                title={whyNot ?? undefined}
                aria-disabled={whyNot !== null}
                onClick={() => (whyNot === null ? setIsDeleting(true) : sayFailure(new Error(whyNot)))}
              >
                {t("delete")}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
          {isDeleting && <DeleteSchedule schedule={schedule} name={name} onClose={() => setIsDeleting(false)} />}
        </td>
      </tr>
      {(schedule.problem || turning.error) && (
        <tr>
          <td />
          <td colSpan={7} className="problem-cell">
            {schedule.problem && (
              <p className="problem">
                <i className="st" data-s="FAILURE" aria-hidden /> {t("doesNotFire", { why: schedule.problem })}
              </p>
            )}
            <Refusal error={turning.error} />
          </td>
        </tr>
      )}
    </>
  );
}

/** Asks before a schedule is deleted. */
function DeleteSchedule({ schedule, name, onClose }: { schedule: Schedule; name: string; onClose: () => void }) {
  const { t } = useTranslation("schedules");
  const removal = useMutation({
    mutationFn: () =>
      api.DELETE("/api/v1/schedules/{id}", {
        params: { path: { id: schedule.id }, header: match(schedule.version) },
      }),
    onSuccess: async () => {
      onClose();
      await changedSchedules();
    },
  });
  return (
    <Confirm title={t("deleteTitle", { id: schedule.id, name })} verb={t("delete")} sending={removal} onClose={onClose}>
      <p>{t("deleteHelp", { name })}</p>
      {schedule.from_file && <p className="mute">{t("fromFileHelp")}</p>}
    </Confirm>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useTopics } from "@/live/eventSource";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Ago, Moment } from "@/parts/Time";
import { duration } from "@/parts/time";
import { type Duty, duties } from "./queries";

/** What is done once in a while for the whole cluster: when, by which master, and what came of it. */
export function DutiesTab() {
  const { t } = useTranslation("cluster");
  useTopics("cluster");
  const found = useQuery({ ...duties, refetchInterval: 5_000 });
  return (
    <Panel title={t("tab.duties")} remark={t("dutiesRemark")}>
      <Answer of={found} empty={<Empty title={t("noDuties")} />}>
        {(data) => (
          <Table
            className="dense"
            hasFocus
            heads={[
              t("duty"),
              { num: t("every") },
              t("lastDone"),
              t("doneBy"),
              { num: t("dutyTook") },
              t("nextDue"),
              t("result"),
            ]}
          >
            {data.items.map((each) => (
              <tr key={each.name}>
                <td>
                  <i className="st" data-s={isFine(each) ? "NORMAL" : "DEAD"} aria-hidden /> <b>{each.name}</b>
                </td>
                <td className="num">{duration(each.every_s)}</td>
                <td>
                  {each.last ? <Ago at={each.last.ended_at} /> : t(each.is_idle ? "nothingToDoYet" : "notDoneYet")}
                </td>
                <td title={each.last?.late ? t("wasOverdue") : undefined}>
                  {each.last?.master}
                  {each.last?.late && " *"}
                </td>
                <td className="num">{each.last && duration(each.last.took_s)}</td>
                <td>{next(each)}</td>
                <td className={isFine(each) ? undefined : "bad"}>
                  {each.error ? t("dutyFailed", { error: each.error }) : each.last?.result}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Answer>
    </Panel>
  );

  function next(each: Duty) {
    if (each.master) return t("isAtIt", { master: each.master });
    return each.is_idle ? <span title={t("isIdleHelp")}>{t("isIdle")}</span> : <Moment at={each.due_at} />;
  }
}

function isFine(duty: Duty): boolean {
  return duty.error == null && duty.last?.is_fine !== false;
}

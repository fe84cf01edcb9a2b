import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useTopics } from "@/live/eventSource";
import { me } from "@/login/session";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { State } from "@/parts/State";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { count, duration } from "@/parts/time";
import { Bar } from "./Bar";
import { Drain, DrainedBy, isLastOf, stateOf } from "./Drain";
import { claims, slots } from "./queries";

const EVERY_MS = 3_000;

/** The masters: slot, state, how full, how much each takes, and those that were fenced. */
export function MastersTab() {
  const { t } = useTranslation("cluster");
  useTopics("cluster");
  const found = useQuery({ ...slots, refetchInterval: EVERY_MS });
  const isAdmin = useQuery(me).data?.is_admin ?? false;
  const taken = useQuery({ ...claims, refetchInterval: EVERY_MS });
  return (
    <>
      <Panel title={t("tab.masters")} remark={found.data && t("slotsCount", { count: found.data.total })}>
        <Answer
          of={found}
          isEmpty={(data) => data.masters.length === 0}
          empty={
            <Empty title={t("noMasters")}>
              <p>
                {t("startMaster")} <code>shoal master</code>
              </p>
            </Empty>
          }
        >
          {(data) => (
            <Table
              heads={[
                { num: t("slot") },
                t("master"),
                t("state"),
                t("address"),
                t("runsOfMost"),
                { num: t("perSecond") },
                { num: t("load") },
                t("believesHead"),
                { num: t("lastBeatHead") },
                t("log"),
                t("drainHead"),
              ]}
            >
              {data.masters.map((each) => (
                <tr key={each.epoch}>
                  <td className="num">{each.slot ?? "–"}</td>
                  <td>
                    <b>{each.name}</b> <span className="mute">{t("epoch", { epoch: each.epoch })}</span>
                  </td>
                  <td title={each.because ?? undefined}>
                    <State state={stateOf(each)} /> <DrainedBy node={each} />{" "}
                    {each.because && <span className="mute">{each.because}</span>}
                    {!each.in_registry && <span className="tag draft">{t("notRegistered")}</span>}
                  </td>
                  <td className="mono">{each.address}</td>
                  <td>
                    <Bar used={each.running ?? 0} most={each.capacity ?? 0} />
                  </td>
                  <td className="num">
                    {(taken.data?.items.find((one) => one.epoch === each.epoch)?.per_s ?? 0).toFixed(1)}
                  </td>
                  <td className="num">{each.load?.toFixed(2) ?? "–"}</td>
                  <td>
                    <i className="st" data-s={each.agrees ? "SUCCESS" : "LATE"} aria-hidden />{" "}
                    {each.believes ?? t("noSlot")}
                    <span className="unseen">{t(each.agrees ? "agrees" : "differs")}</span>
                  </td>
                  <td className="num">{duration(each.beat_age_s)}</td>
                  <td>
                    {each.log_url ? <a href={each.log_url}>{t("log")}</a> : <span className="mute">{t("ownLog")}</span>}
                  </td>
                  <td>
                    <Drain node={each} kind="master" isAdmin={isAdmin} isLast={isLastOf(each, data.masters)} />
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Answer>
        {found.data?.registry_fault && <p className="bad fault">{found.data.registry_fault}</p>}
      </Panel>
      {(found.data?.fenced.length ?? 0) > 0 && (
        <Panel title={t("lastFenced")} remark={count(found.data?.fenced.length ?? 0)}>
          <Table
            className="dense"
            heads={[t("fencedAt"), { num: t("epochHead") }, t("address"), t("startedAt"), t("why")]}
          >
            {found.data?.fenced.map((each) => (
              <tr key={each.epoch}>
                <td>
                  <Moment at={each.fenced_at} />
                </td>
                <td className="num">{each.epoch}</td>
                <td className="mono">{each.address}</td>
                <td>
                  <Moment at={each.started_at} />
                </td>
                <td className="wide" title={each.why}>
                  {each.why}
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
    </>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useTopics } from "@/live/eventSource";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { ScrollX } from "@/parts/ScrollX";
import { Table } from "@/parts/Table";
import { duration } from "@/parts/time";
import { registry, settings } from "./queries";

/** Where living masters are registered, whether that answers, and by which times the nodes live and die. */
export function RegistryTab() {
  const { t } = useTranslation("cluster");
  useTopics("cluster");
  const found = useQuery({ ...registry, refetchInterval: 5_000 });
  const times = useQuery(settings);
  return (
    <div className="two even">
      <Panel title={t("tab.registry")}>
        <Answer of={found}>
          {(data) => (
            <>
              <dl className="facts-list">
                <dt>{t("place")}</dt>
                <dd>
                  {data.place == null ? (
                    t("noRegistryYet")
                  ) : data.is_database ? (
                    t("inDatabase")
                  ) : (
                    <code>{data.place}</code>
                  )}
                </dd>
                <dt>{t("state")}</dt>
                <dd>
                  <i className="st" data-s={data.fault ? "DEAD" : "NORMAL"} aria-hidden />{" "}
                  {data.fault ? <span className="bad">{data.fault}</span> : t("registryAnswers")}
                </dd>
              </dl>
              {data.masters.length === 0 ? (
                <Empty title={t("noneRegistered")} />
              ) : (
                <Table className="dense" hasFocus heads={[t("master"), { num: t("epochHead") }, t("address")]}>
                  {data.masters.map((each) => (
                    <tr key={each.epoch}>
                      <td>
                        <b>{each.name}</b>
                      </td>
                      <td className="num">{each.epoch}</td>
                      <td className="mono">{each.address}</td>
                    </tr>
                  ))}
                </Table>
              )}
            </>
          )}
        </Answer>
      </Panel>
      <Panel title={t("times")} remark={t("timesOfAll")}>
        <Answer of={times} isEmpty={(data) => data.timing == null} empty={<Empty title={t("noNodeYet")} />}>
          {(data) => (
            <ScrollX>
              <table className="dense">
                <tbody>
                  {Object.entries(data.timing ?? {}).map(([name, seconds]) => (
                    <tr key={name}>
                      <td>{t(`time.${name}`, { defaultValue: name })}</td>
                      <td className="mono mute">{name}</td>
                      <td className="num">{duration(seconds)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollX>
          )}
        </Answer>
      </Panel>
    </div>
  );
}

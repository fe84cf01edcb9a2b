import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { ScrollX } from "@/parts/ScrollX";
import { Heads, Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { count, duration } from "@/parts/time";
import { Bar } from "./Bar";
import { bytes } from "./bytes";
import { database } from "./queries";

const OLD_S = 5;

/** How full and how busy the database is: connections, open transactions, tables. */
export function DatabaseTab() {
  const { t } = useTranslation("cluster");
  const found = useQuery({ ...database, refetchInterval: 5_000 });
  return (
    <Answer of={found} lines={8}>
      {(data) => (
        <>
          <div className="two even">
            <Panel
              title={t("connections")}
              remark={t("postgres", { version: data.version.split(" ")[0] })}
              end={<Bar used={data.sessions.reduce((sum, each) => sum + each.count, 0)} most={data.connections_max} />}
            >
              <ScrollX className="tall">
                <table className="dense">
                  <Heads of={[t("application"), t("state"), { num: t("connections") }]} />
                  <tbody>
                    {data.sessions.map((each) => (
                      <tr key={`${each.application} ${each.state}`}>
                        <td>{each.application}</td>
                        <td className="soft">{t(`session.${each.state}`, { defaultValue: each.state })}</td>
                        <td className="num">{each.count}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </ScrollX>
            </Panel>
            <Panel title={t("transactions")} remark={t("oldestFirst")}>
              {data.transactions.length === 0 ? (
                <Empty title={t("noTransaction")}>{t("noTransactionWhy")}</Empty>
              ) : (
                <Table
                  className="dense"
                  hasFocus
                  heads={[{ num: t("process") }, t("application"), t("state"), t("waitsFor"), { num: t("age") }]}
                >
                  {data.transactions.map((each) => (
                    <tr key={each.pid}>
                      <td className="num">{each.pid}</td>
                      <td>{each.application}</td>
                      <td className="soft">{t(`session.${each.state}`, { defaultValue: each.state })}</td>
                      <td>{each.waits_for ?? "–"}</td>
                      <td className="num">
                        {each.age_s > OLD_S && <i className="st" data-s="LATE" aria-hidden />} {duration(each.age_s)}
                      </td>
                    </tr>
                  ))}
                </Table>
              )}
            </Panel>
          </div>
          <Panel title={t("tables")} remark={bytes(data.bytes)}>
            <Table
              className="dense"
              hasFocus
              heads={[
                t("table"),
                { num: t("size") },
                { num: t("rows") },
                { num: t("deadRows") },
                { num: t("vacuumed") },
              ]}
            >
              {data.tables.map((each) => (
                <tr key={each.name}>
                  <td className="mono">{each.name}</td>
                  <td className="num">{bytes(each.bytes)}</td>
                  <td className="num">{count(each.rows)}</td>
                  <td className="num">{count(each.dead_rows)}</td>
                  <td className="num">{each.vacuumed_at ? <Moment at={each.vacuumed_at} /> : "–"}</td>
                </tr>
              ))}
            </Table>
          </Panel>
        </>
      )}
    </Answer>
  );
}

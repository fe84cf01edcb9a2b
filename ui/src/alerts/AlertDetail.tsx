import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { Refusal } from "@/forms/Refusal";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { RowAct, SmallAct } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Facts } from "@/parts/Facts";
import { ScrollX } from "@/parts/ScrollX";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { factText, plainFacts, type ResultTable, tableOf } from "./facts";
import { deliveryOf, hasFailed } from "./looks";
import { Marked } from "./Marked";
import { type Alert, alertOf, type Delivery } from "./queries";

/** All that is known of an alert: to whom it goes, why one did not get it, and its facts. */
export function AlertDetail({ alert, onSilence }: { alert: Alert; onSilence: () => void }) {
  const { t, i18n } = useTranslation("alerts");
  const found = useQuery(alertOf(alert.id));
  const whyNot = useWhyNot(alert.project == null ? "ADMIN" : "OPERATOR", alert.project ?? null);
  const done = useDone("alerts");
  const retry = useMutation({
    mutationFn: (channel: string | null) =>
      api.POST("/api/v1/alerts/{id}/retry", { params: { path: { id: alert.id } }, body: { channel } }),
    onSuccess: () => done(t("sentAgain", { id: alert.id })),
  });
  const isOfGroup = alert.kind !== "TEST";
  const failed = alert.deliveries.filter((each) => each.state === "FAILED").length;
  return (
    <div className="alert-detail">
      {isOfGroup && (
        <p>
          {t("toGroup")}{" "}
          <Link to="/alerts" search={{ tab: "channels" }}>
            {alert.group}
          </Link>
          {alert.state === "EXPANDED" ? "" : `: ${reasonOf()}`}
        </p>
      )}
      {alert.deliveries.length > 0 && (
        <Table
          className="dense deliveries"
          hasFocus
          heads={[t("channel"), t("result"), { num: t("tries") }, t("when"), t("reason"), { unseen: t("actions") }]}
        >
          {alert.deliveries.map((each) => (
            <tr key={each.channel}>
              <td>{each.channel}</td>
              <td>
                <Marked of={deliveryOf(each)} t={t} />
              </td>
              <td className="num" data-label={t("tries")}>
                {each.tries}
              </td>
              <td>
                <Sent delivery={each} />
              </td>
              <td className="wrap">{each.error}</td>
              <td>
                <div className="row-acts">
                  {isOfGroup && each.state === "FAILED" && (
                    <RowAct
                      why={whyNot}
                      loading={retry.isPending}
                      onClick={() => retry.mutate(each.channel)}
                      word={t("sendAgain")}
                    />
                  )}
                </div>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Answer of={found} lines={3}>
        {({ facts }) => (
          <>
            <ResultRows of={tableOf(facts)} />
            <Facts
              className="alert-facts"
              of={plainFacts(facts).map(([name, value]) => [name, factText(name, value, i18n.language)])}
            />
          </>
        )}
      </Answer>
      <Refusal error={retry.error} />
      <div className="line wrap">
        {isOfGroup && <SmallAct why={whyNot} onClick={onSilence} word={t("silenceLike")} />}
        {hasFailed(alert) && failed !== 1 && (
          <SmallAct
            why={whyNot}
            loading={retry.isPending}
            onClick={() => retry.mutate(null)}
            word={alert.state === "NOBODY" ? t("sendToGroup") : t("sendToAll")}
          />
        )}
      </div>
    </div>
  );

  function reasonOf(): string {
    if (alert.state === "WAIT") return t("noSenderYet");
    return alert.state_reason ?? "";
  }
}

/** What a SQL task reported, as it is sent. */
function ResultRows({ of: table }: { of: ResultTable | null }) {
  if (table === null) return null;
  return (
    <ScrollX>
      <table className="dense result-rows">
        <thead>
          <tr>
            {table.columns.map((each, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have one name
              <th key={place}>{each}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, number) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no name
            <tr key={number}>
              {row.map((value, place) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as the columns
                <td key={place}>{value === null ? "NULL" : factText("", value, "")}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function Sent({ delivery }: { delivery: Delivery }) {
  const { t } = useTranslation("alerts");
  if (delivery.sent_at != null)
    return (
      <>
        <Moment at={delivery.sent_at} />
        {delivery.grouped_with != null && ` ${t("groupedWith", { id: delivery.grouped_with })}`}
      </>
    );
  if (delivery.next_try_at != null)
    return (
      <>
        {t("nextTry")} <Moment at={delivery.next_try_at} />
      </>
    );
  return <>–</>;
}

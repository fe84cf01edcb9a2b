import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { asked } from "@/api/reads";
import { useDone } from "@/forms/useDone";
import { RowAct, SmallAct } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Ago, Moment } from "@/parts/Time";

/** Where an account is logged in. */
export function Sessions({ account }: { account: string }) {
  const { t } = useTranslation("settings");
  const done = useDone("sessions");
  const path = { account };
  const found = useQuery(
    asked(["sessions", account], () => api.GET("/api/v1/users/{account}/sessions", { params: { path } })),
  );
  const end = useMutation({
    mutationFn: (id: string) =>
      api.DELETE("/api/v1/users/{account}/sessions/{id}", { params: { path: { account, id } } }),
    onSuccess: () => done(t("sessionEnded")),
    onError: sayFailure,
  });
  const endAll = useMutation({
    mutationFn: () => api.DELETE("/api/v1/users/{account}/sessions", { params: { path } }),
    onSuccess: ({ ended }) => done(t("sessionsEnded", { count: ended })),
    onError: sayFailure,
  });
  const others = found.data?.items.filter((each) => each.is_this !== true).length ?? 0;
  return (
    <Panel
      title={t("sessions")}
      remark={found.data?.items.length}
      end={
        <SmallAct
          loading={endAll.isPending}
          why={others === 0 ? t("noOthers") : null}
          onClick={() => endAll.mutate()}
          word={t("endOthers")}
        />
      }
    >
      <Answer of={found} empty={<Empty title={t("noSessions")} />}>
        {(all) => (
          <Table
            heads={[t("browser"), t("address"), { num: t("lastUsed") }, { num: t("ends") }, { unseen: t("actions") }]}
          >
            {all.items.map((each) => (
              <tr key={each.id}>
                <td className="wide" title={each.user_agent}>
                  {each.is_this && <span className="tag">{t("thisOne")}</span>} {each.user_agent}
                </td>
                <td>{each.address}</td>
                <td className="num">
                  <Ago at={each.last_seen_at} />
                </td>
                <td className="num">
                  <Moment at={each.expires_at} />
                </td>
                <td className="num">
                  <RowAct
                    why={each.is_this ? t("logOutInstead") : null}
                    onClick={() => end.mutate(each.id)}
                    word={t("end")}
                  />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Answer>
    </Panel>
  );
}

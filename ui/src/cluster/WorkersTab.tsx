import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { useTopics } from "@/live/eventSource";
import { me } from "@/login/session";
import { Act } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { State } from "@/parts/State";
import { Table } from "@/parts/Table";
import { duration } from "@/parts/time";
import { Bar } from "./Bar";
import { Drain, DrainedBy, isLastOf, stateOf } from "./Drain";
import { GroupsTable } from "./GroupsTable";
import { workerGroups, workers } from "./queries";

const EVERY_MS = 3_000;

/** The worker groups with what waits for them, and the workers with their places. */
export function WorkersTab() {
  const { t } = useTranslation("cluster");
  useTopics("cluster");
  const isAdmin = useQuery(me).data?.is_admin ?? false;
  const groups = useQuery({ ...workerGroups, refetchInterval: EVERY_MS });
  const nodes = useQuery({ ...workers, refetchInterval: EVERY_MS });
  const none = (
    <Empty title={t("noWorkers")}>
      <p>
        {t("startWorker")} <code>shoal worker</code>
      </p>
    </Empty>
  );
  return (
    <>
      <Panel
        title={t("groups")}
        remark={groups.data && String(groups.data.items?.length ?? 0)}
        end={<Rebalance isAdmin={isAdmin} />}
      >
        <Answer of={groups} empty={none}>
          {(data) => <GroupsTable groups={data.items ?? []} workers={nodes.data?.items ?? []} />}
        </Answer>
      </Panel>
      <Panel title={t("workers")} remark={nodes.data && String(nodes.data.items.length)}>
        <Answer of={nodes} empty={none}>
          {(data) => (
            <Table
              heads={[
                t("worker"),
                t("state"),
                t("groups"),
                t("placesUsed"),
                { num: t("load") },
                t("address"),
                { num: t("lastBeatHead") },
                t("drainHead"),
              ]}
            >
              {data.items.map((each) => (
                <tr key={each.epoch}>
                  <td>
                    <b>{each.name}</b> <span className="mute">{t("epoch", { epoch: each.epoch })}</span>
                  </td>
                  <td>
                    <State state={stateOf(each)} /> <DrainedBy node={each} />{" "}
                    {each.because && <span className="mute">{each.because}</span>}
                  </td>
                  <td>{each.groups?.join(", ")}</td>
                  <td>
                    <Bar used={each.running ?? 0} most={each.capacity ?? 0} />
                  </td>
                  <td className="num">{each.load?.toFixed(2) ?? "–"}</td>
                  <td className="mono">{each.address}</td>
                  <td className="num">{duration(each.beat_age_s)}</td>
                  <td>
                    <Drain node={each} kind="worker" isAdmin={isAdmin} isLast={isLastOf(each, data.items)} />
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Answer>
      </Panel>
    </>
  );
}

/** Spreads streams evenly over the workers of their groups, and says what was asked for. */
function Rebalance({ isAdmin }: { isAdmin: boolean }) {
  const { t } = useTranslation("cluster");
  const act = useMutation({ mutationFn: () => api.POST("/api/v1/rebalance", { body: {} }) });
  const groups = act.data?.worker_groups ?? [];
  return (
    <>
      {act.data && (
        <span className="mute" role="status">
          {groups.length > 0 ? t("rebalanced", { groups: groups.join(", ") }) : t("noStreams")}
        </span>
      )}{" "}
      {act.error && <span className="bad">{act.error.message}</span>}{" "}
      <Act
        size="compact-xs"
        variant="default"
        why={isAdmin ? null : t("rebalanceAdminOnly")}
        hint={t("rebalanceWhat")}
        loading={act.isPending}
        onClick={() => act.mutate()}
        word={t("rebalance")}
      />
    </>
  );
}

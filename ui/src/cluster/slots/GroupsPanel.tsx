import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { GroupsTable } from "../GroupsTable";
import { workerGroups, workers } from "../queries";

const EVERY_MS = 10_000;

/** The worker groups, next to the slots. */
export function GroupsPanel({ isShown }: { isShown: boolean }) {
  const { t } = useTranslation("cluster");
  const refetchInterval = isShown ? EVERY_MS : false;
  const groups = useQuery({ ...workerGroups, refetchInterval });
  const nodes = useQuery({ ...workers, refetchInterval });
  const remark =
    groups.data && nodes.data
      ? `${t("groupsCount", { count: groups.data.items?.length ?? 0 })} · ${t("workersCount", { count: nodes.data.items.length })}`
      : undefined;
  return (
    <Panel
      title={t("tab.workers")}
      remark={remark}
      end={
        <Link to="/cluster" search={{ tab: "workers" }}>
          {t("all")}
        </Link>
      }
    >
      <Answer of={groups} empty={<Empty title={t("noWorkers")} />}>
        {(data) => <GroupsTable groups={data.items ?? []} workers={nodes.data?.items ?? []} />}
      </Answer>
    </Panel>
  );
}

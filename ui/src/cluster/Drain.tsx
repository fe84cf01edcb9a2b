import { Button, Menu } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { Act } from "@/parts/Act";
import { duration } from "@/parts/time";
import type { Node } from "./queries";

interface Props {
  node: Node;
  kind: "master" | "worker";
  /** Whether no other master, or no other worker of one of its groups, takes work. */
  isLast: boolean;
  isAdmin: boolean;
}

/** Drains a node, after saying what will happen, or ends its drain. */
export function Drain({ node, kind, isLast, isAdmin }: Props) {
  const { t } = useTranslation("cluster");
  const queries = useQueryClient();
  const act = useMutation({
    mutationFn: async (what: "drain" | "undrain") => {
      const path = { name: node.name };
      if (what === "drain")
        return kind === "master"
          ? api.POST("/api/v1/masters/{name}/drain", { params: { path } })
          : api.POST("/api/v1/workers/{name}/drain", { params: { path } });
      return kind === "master"
        ? api.POST("/api/v1/masters/{name}/undrain", { params: { path } })
        : api.POST("/api/v1/workers/{name}/undrain", { params: { path } });
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["slots"] });
      void queries.invalidateQueries({ queryKey: ["cluster"] });
    },
  });
  const whyNot = isAdmin ? (node.state === "ALIVE" ? null : t("drainLeaving")) : t("drainAdminOnly");
  const fault = act.error && <span className="bad">{act.error.message}</span>;
  if (node.drain)
    return (
      <>
        <Act
          size="compact-xs"
          variant="default"
          why={isAdmin ? null : whyNot}
          hint={t(kind === "master" ? "undrainMasterWhat" : "undrainWorkerWhat", { name: node.name })}
          loading={act.isPending}
          onClick={() => act.mutate("undrain")}
          word={t("undrain")}
        />{" "}
        {fault}
      </>
    );
  if (whyNot !== null)
    return <Act size="compact-xs" variant="default" why={whyNot} onClick={() => undefined} word={t("drain")} />;
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button size="compact-xs" variant="default" loading={act.isPending}>
            {t("drain")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown maw={340}>
          <p className="aside">{t(kind === "master" ? "drainMasterWhat" : "drainWorkerWhat", { name: node.name })}</p>
          {isLast && <p className="aside bad">{t(kind === "master" ? "drainLastMaster" : "drainLastWorker")}</p>}
          <Menu.Item onClick={() => act.mutate("drain")}>{t("drainNamed", { name: node.name })}</Menu.Item>
        </Menu.Dropdown>
      </Menu>{" "}
      {fault}
    </>
  );
}

/** The word of a node's state: leaving, draining, busy or normal. */
export function stateOf(node: Node): string {
  if (node.state !== "ALIVE") return node.state;
  return node.drain ? "DRAINING" : (node.status ?? node.state);
}

/** Since when a node is drained, by whom, and whether it has confirmed. */
export function DrainedBy({ node }: { node: Node }) {
  const { t } = useTranslation("cluster");
  if (!node.drain) return null;
  const values = { time: duration(node.drain.age_s), by: node.drain.asked_by };
  return <span className="mute">{t(node.drain.confirmed ? "drainedBy" : "drainUnconfirmed", values)}</span>;
}

/** Whether no other of these takes work for one of this node's groups; a master has none. */
export function isLastOf(node: Node, all: readonly Node[]): boolean {
  const others = all.filter((each) => each.epoch !== node.epoch && each.state === "ALIVE" && !each.drain);
  const groups = node.groups ?? [];
  if (groups.length === 0) return others.length === 0;
  return groups.some((group) => !others.some((each) => each.groups?.includes(group)));
}

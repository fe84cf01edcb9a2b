import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { Act } from "@/parts/Act";

/** Spreads streams evenly over the workers of their groups, and says what was asked for. */
export function Rebalance({ isAdmin }: { isAdmin: boolean }) {
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

import { Button, Menu } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { ApiProblem, api } from "@/api/client";
import { me } from "@/login/session";
import { drill } from "../queries";

/** Really kills a master, where `shoal up` runs them all; says why not where it cannot. */
export function Drill() {
  const { t } = useTranslation("cluster");
  const queries = useQueryClient();
  const isAdmin = useQuery(me).data?.is_admin ?? false;
  const can = useQuery({ ...drill, enabled: isAdmin });
  const kill = useMutation({
    mutationFn: (master: string) => api.POST("/api/v1/drill:kill", { body: { master } }),
    // A master that was killed must not be killed again because an answer was lost.
    retry: false,
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["frame"] });
      void queries.invalidateQueries({ queryKey: ["slot-changes"] });
      void queries.invalidateQueries({ queryKey: drill.queryKey });
    },
  });
  const whyNot = !isAdmin ? t("drillAdminOnly") : (can.error?.message ?? can.data?.why_not);
  return (
    <>
      <output className="drilled">
        {kill.isSuccess && t("killed", { name: kill.data.master, pid: kill.data.pid })}
        {kill.error && (
          <span className="bad">
            {kill.error.message}{" "}
            {kill.error instanceof ApiProblem && kill.error.code && <code>[{kill.error.code}]</code>}
          </span>
        )}
      </output>
      <Menu position="top-end" withinPortal>
        <Menu.Target>
          <Button
            variant="default"
            size="xs"
            leftSection={<i className="st" data-s="DEAD" aria-hidden />}
            loading={kill.isPending}
          >
            {t("killMaster")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown maw={320}>
          {whyNot ? (
            <p className="aside">{whyNot}</p>
          ) : (
            <>
              <Menu.Label>{t("drillWhat")}</Menu.Label>
              {can.data?.masters.map((name) => (
                <Menu.Item key={name} onClick={() => kill.mutate(name)}>
                  {t("killNamed", { name })}
                </Menu.Item>
              ))}
            </>
          )}
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

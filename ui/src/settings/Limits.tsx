import { TagsInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, bodyOf, type Schemas } from "@/api/client";
import { faultAt, faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";

/** Which tenants and worker groups a project may use. */
export function Limits({ project }: { project: string }) {
  const path = { project };
  const found = useQuery({
    queryKey: ["projects", "limits", project],
    queryFn: () => bodyOf(api.GET("/api/v1/projects/{project}/limits", { params: { path } })),
    refetchOnWindowFocus: false,
  });
  return <Answer of={found}>{(limits) => <LimitsForm project={project} limits={limits} />}</Answer>;
}

function LimitsForm({ project, limits }: { project: string; limits: Schemas["Limits"] }) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const done = useDone("projects");
  const [tenants, setTenants] = useState([...(limits.tenants ?? [])]);
  const [groups, setGroups] = useState([...(limits.worker_groups ?? [])]);
  const save = useMutation({
    mutationFn: () =>
      bodyOf(
        api.PUT("/api/v1/projects/{project}/limits", {
          params: { path: { project } },
          body: { tenants, worker_groups: groups },
        }),
      ),
    onSuccess: () => done(t("savedNamed", { name: project })),
  });
  return (
    <Panel
      title={t("limits")}
      end={
        <Act size="xs" variant="default" loading={save.isPending} why={whyNot} onClick={() => save.mutate()}>
          {t("save")}
        </Act>
      }
    >
      <div className="fields pad">
        <TagsInput
          label={t("tenants")}
          description={t("limitsHelp")}
          placeholder={tenants.length === 0 ? t("all") : ""}
          value={tenants}
          readOnly={whyNot !== null}
          error={faultAt(save.error, "tenants")}
          onChange={setTenants}
        />
        <TagsInput
          label={t("workerGroups")}
          description={t("limitsHelp")}
          placeholder={groups.length === 0 ? t("all") : ""}
          value={groups}
          readOnly={whyNot !== null}
          error={faultAt(save.error, "worker_groups")}
          onChange={setGroups}
        />
        <div className="whole">
          <Refusal error={faultBeside(save.error, "tenants", "worker_groups")} />
        </div>
      </div>
    </Panel>
  );
}

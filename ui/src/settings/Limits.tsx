import { TagsInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { faultAt, faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { SmallAct } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";

const KINDS = [
  ["tenants", "tenants"],
  ["worker_groups", "workerGroups"],
  ["environments", "environments"],
  ["data_sources", "dataSources"],
  ["alert_groups", "alertGroups"],
] as const;

/** What a project may use. A save replaces all of it, so the form has all kinds. */
export function Limits({ project }: { project: string }) {
  const path = { project };
  const found = useQuery({
    queryKey: ["projects", "limits", project],
    queryFn: () => api.GET("/api/v1/projects/{project}/limits", { params: { path } }),
    refetchOnWindowFocus: false,
  });
  return <Answer of={found}>{(limits) => <LimitsForm project={project} limits={limits} />}</Answer>;
}

function LimitsForm({ project, limits }: { project: string; limits: Schemas["Limits"] }) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const done = useDone("projects");
  const [named, setNamed] = useState<Schemas["Limits"]>(limits);
  const save = useMutation({
    mutationFn: () => api.PUT("/api/v1/projects/{project}/limits", { params: { path: { project } }, body: named }),
    onSuccess: () => done(t("savedNamed", { name: project })),
  });
  return (
    <Panel
      title={t("limits")}
      end={<SmallAct loading={save.isPending} why={whyNot} onClick={() => save.mutate()} word={t("save")} />}
    >
      <div className="fields pad">
        {KINDS.map(([kind, label]) => (
          <TagsInput
            key={kind}
            label={t(label)}
            description={t(kind === "tenants" ? "limitsTenantsHelp" : "limitsHelp")}
            placeholder={named[kind]?.length ? "" : t("all")}
            value={[...(named[kind] ?? [])]}
            readOnly={whyNot !== null}
            error={faultAt(save.error, kind)}
            onChange={(names) => setNamed({ ...named, [kind]: names })}
          />
        ))}
        <div className="whole">
          <Refusal error={faultBeside(save.error, ...KINDS.map(([kind]) => kind))} />
        </div>
      </div>
    </Panel>
  );
}

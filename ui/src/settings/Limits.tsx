import { TagsInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { faultAt, faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { useDone } from "@/forms/useDone";
import { useKnown } from "@/forms/useKnown";
import { useWhyNot } from "@/login/rights";
import { SmallAct } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";

/** Each kind, its word, and the names of it that exist. */
const KINDS = [
  ["tenants", "tenants", ""],
  ["worker_groups", "workerGroups", "worker_group"],
  ["environments", "environments", "environment"],
  ["data_sources", "dataSources", "datasource"],
  ["alert_groups", "alertGroups", "alert_group"],
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
  const known = useKnown();
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
        {KINDS.map(([kind, label, names]) => (
          <TagsInput
            key={kind}
            label={t(label)}
            description={t(kind === "tenants" ? "limitsTenantsHelp" : "limitsHelp")}
            placeholder={named[kind]?.length ? "" : t("all")}
            data={known[names] ?? []}
            value={[...(named[kind] ?? [])]}
            readOnly={whyNot !== null}
            error={faultAt(save.error, kind)}
            onChange={(chosen) => setNamed({ ...named, [kind]: chosen })}
          />
        ))}
        <div className="whole">
          <Refusal error={faultBeside(save.error, ...KINDS.map(([kind]) => kind))} />
        </div>
      </div>
    </Panel>
  );
}

import { Checkbox } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { changedWorkflow } from "@/editor/queries";
import { FormDialog } from "@/forms/FormDialog";
import { Answer } from "@/parts/Answer";
import { WorkflowLink } from "@/parts/Links";
import { say } from "@/parts/notices";
import type { Imported } from "./Found";

interface Props {
  picked: Imported[];
  /** The file of the pools that they need. */
  pools: string | null;
  onClose: () => void;
}

/** Says what saving does to each of the chosen workflows, and does it: all or none. */
export function SaveDialog({ picked, pools, onClose }: Props) {
  const { t } = useTranslation("importing");
  const [withPools, setWithPools] = useState(false);
  const files = picked.map(({ name, content }) => ({ name: `${name}.yaml`, content }));
  if (pools !== null && withPools) files.push({ name: "pools.yaml", content: pools });
  const ask = (dry_run: boolean) => api.POST("/api/v1/workflow-definitions:apply", { body: { dry_run, files } });
  const dry = useQuery({
    queryKey: ["import", "dry", files],
    queryFn: () => ask(true),
    retry: false,
    staleTime: 0,
    gcTime: 0,
  });
  const save = useMutation({
    mutationFn: () => ask(false),
    onSuccess: ({ workflows }) => {
      changedWorkflow();
      say(t("saved", { count: workflows.length }));
      onClose();
    },
  });
  return (
    <FormDialog
      title={t("saveTitle", { count: picked.length })}
      verb={t("save")}
      why={dry.data === undefined ? t("asking") : null}
      sending={{ ...save, mutate: () => save.mutate() }}
      isFirst
      onClose={onClose}
    >
      {pools !== null && (
        <Checkbox
          label={t("withPools")}
          checked={withPools}
          onChange={(event) => setWithPools(event.currentTarget.checked)}
        />
      )}
      <Answer of={dry} isEmpty={() => false}>
        {({ workflows }) => (
          <ul className="stack">
            {workflows.map((each) => (
              <li key={`${each.project}/${each.name}`}>
                <WorkflowLink project={each.project} name={each.name} />{" "}
                <span className="mute">
                  {!each.is_new_version
                    ? t("unchanged")
                    : each.version === 1
                      ? t("isNew", { project: each.project })
                      : t("isNext", { project: each.project, version: each.version })}
                </span>
                {each.warnings.map((warning) => (
                  <p key={warning} className="mute">
                    {warning}
                  </p>
                ))}
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </FormDialog>
  );
}

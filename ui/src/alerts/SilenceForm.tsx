import { Autocomplete, SegmentedControl, Select, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { useDone } from "@/forms/useDone";
import { useFields } from "@/forms/useFields";
import { useWhyNot } from "@/login/rights";
import { shownZone, zonedTime } from "@/parts/time";
import { workflowNames } from "@/runs/queries";
import { projectNames } from "@/settings/queries";
import { type Alert, KINDS } from "./queries";

const HOUR_S = 3_600;
const LASTS = { "1h": HOUR_S, "4h": 4 * HOUR_S, "24h": 24 * HOUR_S, "7d": 168 * HOUR_S } as const;
const UNTIL = "until";
const FIELDS = ["project", "workflow", "kind", "reason", "starts_at", "ends_at", "lasts_s"] as const;

interface Props {
  /** What it is to cover at first: an alert, or a project. */
  like: Partial<Pick<Alert, "project" | "workflow" | "kind">>;
  onClose: () => void;
}

/** A new silence: what it covers, for how long, and why. */
export function SilenceForm({ like, onClose }: Props) {
  const { t } = useTranslation("alerts");
  const done = useDone("alerts");
  const projects = useQuery(projectNames);
  const [lasts, setLasts] = useState<string>("1h");
  const { values, change, fieldsOf } = useFields({
    project: like.project ?? null,
    workflow: like.workflow ?? "",
    kind: (like.kind ?? null) as string | null,
    reason: "",
    starts_at: "",
    ends_at: "",
  });
  const { project, workflow, kind, reason } = values;
  const [from, until] = [zonedTime(values.starts_at), zonedTime(values.ends_at)];
  const workflows = useQuery(workflowNames(project));
  const whyNot = useWhyNot(project === null ? "ADMIN" : "OPERATOR", project);
  const save = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/alert-silences", {
        body: {
          project,
          workflow: project === null || workflow === "" ? null : workflow,
          kind: KINDS.find((each) => each === kind) ?? null,
          reason,
          ...(lasts === UNTIL ? { starts_at: from, ends_at: until } : { lasts_s: LASTS[lasts as keyof typeof LASTS] }),
        },
      }),
    onSuccess: () => {
      onClose();
      void done(t("silenceMade"));
    },
  });
  const field = fieldsOf(save.error);
  return (
    <FormDialog
      title={t("newSilence")}
      size={620}
      verb={t("silence")}
      why={whyNot ?? (lasts === UNTIL && until === null ? t("untilFirst") : null)}
      sending={save}
      fields={FIELDS}
      onClose={onClose}
    >
      <p className="soft">{t("silenceHelp")}</p>
      <div className="fields">
        <Select
          label={t("project")}
          placeholder={t("allAndCluster")}
          data={[...(projects.data ?? [])]}
          clearable
          searchable
          clearButtonProps={{ "aria-label": t("allAndCluster") }}
          {...field("project")}
          onChange={(value) => change({ project: value, workflow: "" })}
        />
        <Autocomplete
          label={t("workflow")}
          placeholder={t("allWorkflows")}
          data={workflows.data?.items.map((each) => each.name).filter(isFirst) ?? []}
          disabled={project === null}
          {...field("workflow")}
        />
        <Select
          label={t("kind")}
          placeholder={t("allKinds")}
          data={KINDS.map((each) => ({ value: each, label: t(`kind.${each}`) }))}
          clearable
          clearButtonProps={{ "aria-label": t("allKinds") }}
          {...field("kind")}
        />
        <TextInput label={t("reason")} {...field("reason")} />
      </div>
      <div>
        <p className="field-label">{t("howLong")}</p>
        <SegmentedControl
          size="xs"
          aria-label={t("howLong")}
          data={[...Object.keys(LASTS), UNTIL].map((each) => ({ value: each, label: t(`lasts.${each}` as never) }))}
          value={lasts}
          onChange={setLasts}
        />
      </div>
      {lasts === UNTIL && (
        <div className="fields">
          <TextInput type="datetime-local" label={t("fromOrNow")} {...field("starts_at")} />
          <TextInput type="datetime-local" label={t("until")} description={shownZone()} {...field("ends_at")} />
        </div>
      )}
    </FormDialog>
  );
}

/** The same name in two projects is one choice. */
function isFirst(name: string, place: number, all: string[]): boolean {
  return all.indexOf(name) === place;
}

import { NumberInput, Select, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, bodyOf } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { faultAt } from "@/forms/faults";
import { Pairs } from "@/forms/Pairs";
import { WorkflowSelect } from "@/forms/WorkflowSelect";
import { correctionOf, PRIORITIES, STRATEGIES, startOf } from "./correction";
import type { ErrorCommand } from "./queries";

const SHOWN = [
  "workflow_code",
  "version",
  "params",
  "priority",
  "failure_strategy",
  "worker_group",
  "environment",
  "tasks",
];

interface Props {
  error: ErrorCommand;
  onClose: () => void;
  onRetried: (id: string) => void;
}

/** Asks again for what a refused command asked for, with what was wrong corrected. */
export function Fix({ error, onClose, onRetried }: Props) {
  const { t } = useTranslation("queue");
  const [before] = useState(() => startOf(error));
  const [draft, setDraft] = useState(before);
  const retry = useMutation({
    mutationFn: () =>
      bodyOf(
        api.POST("/api/v1/error-commands/{id}/retry", {
          params: { path: { id: error.id } },
          body: correctionOf(draft, before),
        }),
      ),
    onSuccess: (answer) => onRetried(answer.command_id),
  });
  const change = (to: Partial<typeof draft>) => setDraft((shown) => ({ ...shown, ...to }));
  const fault = (field: string) => faultAt(retry.error, field);
  const isStart = !error.workflow_instance_id;
  return (
    <FormDialog
      title={t("fixTitle", { id: error.id })}
      size={680}
      verb={t("retry")}
      sending={retry}
      fields={SHOWN}
      onClose={onClose}
    >
      <p className="problem">
        <i className="st" data-s="FAILURE" aria-hidden /> {error.reason}
      </p>
      <p className="mute">{t("fixHelp")}</p>
      <div className="fields">
        {isStart && (
          <>
            <WorkflowSelect
              label={t("workflow")}
              project={error.project ?? null}
              value={draft.code}
              onChange={(code) => change({ code })}
              error={fault("workflow_code")}
            />
            <NumberInput
              label={t("version")}
              placeholder={t("newestVersion")}
              min={1}
              value={draft.version}
              error={fault("version")}
              onChange={(version) => change({ version: version === "" ? "" : Number(version) })}
            />
          </>
        )}
        <Select
          label={t("priority")}
          placeholder={t("asWas")}
          data={PRIORITIES.map((each) => ({ value: each, label: t(`priority.${each}`) }))}
          value={draft.priority}
          error={fault("priority")}
          onChange={(priority) => change({ priority: PRIORITIES.find((each) => each === priority) ?? null })}
        />
        <Select
          label={t("strategy")}
          placeholder={t("asWas")}
          data={STRATEGIES.map((each) => ({ value: each, label: t(`strategy.${each}`) }))}
          value={draft.strategy}
          error={fault("failure_strategy")}
          onChange={(strategy) => change({ strategy: STRATEGIES.find((each) => each === strategy) ?? null })}
        />
        <TextInput
          label={t("workerGroup")}
          placeholder={t("asWas")}
          value={draft.group}
          error={fault("worker_group")}
          onChange={(event) => change({ group: event.currentTarget.value })}
        />
        <TextInput
          label={t("environment")}
          placeholder={t("asWas")}
          value={draft.environment}
          error={fault("environment")}
          onChange={(event) => change({ environment: event.currentTarget.value })}
        />
        <TextInput
          className="whole"
          label={t("startTasks")}
          description={t("startTasksHelp")}
          value={draft.tasks}
          error={fault("tasks")}
          onChange={(event) => change({ tasks: event.currentTarget.value })}
        />
        <div className="whole">
          <Pairs
            label={t("params")}
            pairs={draft.params}
            onChange={(params) => change({ params })}
            error={fault("params")}
          />
          {before.isUnreadable && <p className="field-fault">{t("paramsUnreadable")}</p>}
        </div>
      </div>
    </FormDialog>
  );
}

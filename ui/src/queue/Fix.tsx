import { NumberInput, Select, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { Pairs } from "@/forms/Pairs";
import { useFields } from "@/forms/useFields";
import { WorkflowSelect } from "@/forms/WorkflowSelect";
import { correctionOf, PRIORITIES, STRATEGIES, startOf, startParams } from "./correction";
import type { ErrorCommand } from "./queries";

interface Props {
  error: ErrorCommand;
  onClose: () => void;
  onRetried: (id: string) => void;
}

/** Asks again for what a refused command asked for, with what was wrong corrected. */
export function Fix({ error, onClose, onRetried }: Props) {
  const { t } = useTranslation("queue");
  const [before] = useState(() => startOf(error));
  const { values, fieldsOf } = useFields(before);
  const retry = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/error-commands/{id}/retry", {
        params: { path: { id: error.id } },
        body: correctionOf(values, before),
      }),
    onSuccess: (answer) => onRetried(answer.command_id),
  });
  const field = fieldsOf(retry.error);
  const { value: params, ...ofParams } = field("params");
  return (
    <FormDialog
      title={t("fixTitle", { id: error.id })}
      size={680}
      verb={t("retry")}
      sending={retry}
      fields={Object.keys(values)}
      onClose={onClose}
    >
      <p className="problem">
        <i className="st" data-s="FAILURE" aria-hidden /> {error.reason}
      </p>
      <p className="mute">{t("fixHelp")}</p>
      <div className="fields">
        {!error.workflow_instance_id && (
          <>
            <WorkflowSelect label={t("workflow")} project={error.project ?? null} {...field("workflow_code")} />
            <NumberInput label={t("version")} placeholder={t("newestVersion")} min={1} {...field("version")} />
          </>
        )}
        <Select
          label={t("priority")}
          placeholder={t("asWas")}
          data={PRIORITIES.map((each) => ({ value: each, label: t(`priority.${each}`) }))}
          {...field("priority")}
        />
        <Select
          label={t("strategy")}
          placeholder={t("asWas")}
          data={STRATEGIES.map((each) => ({ value: each, label: t(`strategy.${each}`) }))}
          {...field("failure_strategy")}
        />
        <TextInput label={t("workerGroup")} placeholder={t("asWas")} {...field("worker_group")} />
        <TextInput label={t("environment")} placeholder={t("asWas")} {...field("environment")} />
        <TextInput className="whole" label={t("startTasks")} description={t("startTasksHelp")} {...field("tasks")} />
        <div className="whole">
          <Pairs label={t("params")} pairs={params} {...ofParams} />
          {startParams(error.params) === null && <p className="field-fault">{t("paramsUnreadable")}</p>}
        </div>
      </div>
    </FormDialog>
  );
}

import { NumberInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { Pairs } from "@/forms/Pairs";
import { OptionFields } from "@/forms/StartFields";
import { useFields } from "@/forms/useFields";
import { WorkflowSelect } from "@/forms/WorkflowSelect";
import { correctionOf, startOf, startParams } from "./correction";
import type { ErrorCommand } from "./queries";

const OPTIONS = ["priority", "failure_strategy", "worker_group", "environment"] as const;

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
        <OptionFields field={field} none={t("asWas")} names={OPTIONS} />
        <TextInput className="whole" label={t("startTasks")} description={t("startTasksHelp")} {...field("tasks")} />
        <div className="whole">
          <Pairs label={t("params")} pairs={params} {...ofParams} />
          {startParams(error.params) === null && <p className="field-fault">{t("paramsUnreadable")}</p>}
        </div>
      </div>
    </FormDialog>
  );
}

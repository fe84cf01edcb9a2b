import { Select, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Pairs } from "@/forms/Pairs";
import { type Draft, PRIORITIES, STRATEGIES } from "./draft";

interface Props {
  draft: Draft;
  onChange: (to: Partial<Draft>) => void;
  fault: (field: string) => string | undefined;
}

/** With what each run starts; nothing given = as the workflow says. */
export function StartFields({ draft, onChange, fault }: Props) {
  const { t } = useTranslation("schedules");
  const isUsed = draft.params.length > 0 || draft.priority || draft.failure_strategy || draft.worker_group;
  return (
    <details className="start-fields" open={Boolean(isUsed) || undefined}>
      <summary>{t("startOptions")}</summary>
      <div className="form">
        <Pairs
          label={t("params")}
          pairs={draft.params}
          onChange={(params) => onChange({ params })}
          error={fault("params")}
        />
        <div className="fields">
          <Select
            label={t("priority")}
            placeholder={t("asWorkflow")}
            data={PRIORITIES.map((each) => ({ value: each, label: t(`priority.${each}`) }))}
            value={draft.priority}
            clearable
            onChange={(priority) => onChange({ priority })}
          />
          <Select
            label={t("strategy")}
            placeholder={t("asWorkflow")}
            data={STRATEGIES.map((each) => ({ value: each, label: t(`strategy.${each}`) }))}
            value={draft.failure_strategy}
            clearable
            onChange={(failure_strategy) => onChange({ failure_strategy })}
          />
          <TextInput
            label={t("workerGroup")}
            placeholder={t("asWorkflow")}
            value={draft.worker_group}
            error={fault("worker_group")}
            onChange={(event) => onChange({ worker_group: event.currentTarget.value })}
          />
          <TextInput
            label={t("environment")}
            placeholder={t("asTask")}
            value={draft.environment}
            error={fault("environment")}
            onChange={(event) => onChange({ environment: event.currentTarget.value })}
          />
        </div>
      </div>
    </details>
  );
}

import { Checkbox, NumberInput, Radio, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem, api, match } from "@/api/client";
import { useProject } from "@/app/ProjectSwitch";
import { faultAt, faultBeside } from "@/forms/faults";
import { Pairs, valuesOf } from "@/forms/Pairs";
import { Refusal } from "@/forms/Refusal";
import { StartFields } from "@/forms/StartFields";
import { Submit } from "@/forms/Submit";
import { OPTIONS } from "@/forms/startOptions";
import { useFields } from "@/forms/useFields";
import { WorkflowSelect } from "@/forms/WorkflowSelect";
import { ZoneSelect } from "@/forms/ZoneSelect";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { sends } from "@/parts/sends";
import { changesOf, type Draft, MISFIRES, sentOf } from "./draft";
import { FireTimes } from "./FireTimes";
import { changedSchedules, type Detail, previewOf } from "./queries";
import { RuleFields } from "./RuleFields";

const TYPING_MS = 300;
/** The fields that show what is wrong with them. */
const SHOWN = ["cron", "time_zone", "start_time", "end_time", "misfire_grace_s", "params", ...OPTIONS];

/** The fields of a schedule, and next to them when it would fire. */
export function EditorForm({ schedule, before, onClose }: { schedule?: Detail; before: Draft; onClose: () => void }) {
  const { t } = useTranslation("schedules");
  const project = useProject();
  // What was read when the form was opened: a change of somebody else behind it must be refused, not replaced.
  const [first] = useState(before);
  const [read] = useState(schedule);
  const { values: draft, change, fieldsOf } = useFields(before);
  const whyNot = useWhyNot("EDITOR", schedule?.project ?? project);
  // As text, since an equal object is another value.
  const [tried] = useDebouncedValue(JSON.stringify(ruleOf(draft)), TYPING_MS);
  const rule = JSON.parse(tried) as ReturnType<typeof ruleOf>;
  const preview = useQuery(previewOf(rule));
  const saving = useMutation({ mutationFn: () => save(draft, first, read), onSuccess: afterSaving });
  async function afterSaving() {
    await changedSchedules();
    onClose();
  }
  const field = fieldsOf(saving.error);
  const fault = (field: string) => faultAt(saving.error, field);
  const ruleFault = preview.error?.message.startsWith("cron") ? preview.error.message : undefined;
  return (
    <form className="schedule-editor" onSubmit={sends(() => whyNot === null && saving.mutate())}>
      <div className="form">
        {schedule === undefined && (
          <WorkflowSelect
            label={t("workflow")}
            project={project}
            value={draft.code}
            onChange={(code) => change({ code })}
          />
        )}
        <RuleFields cron={draft.cron} onChange={(cron) => change({ cron })} fault={ruleFault ?? fault("cron")} />
        <div className="fields">
          <ZoneSelect label={t("zone")} {...field("time_zone")} />
          <TextInput type="datetime-local" label={t("start")} {...field("start_time")} />
          <TextInput type="datetime-local" label={t("end")} {...field("end_time")} />
        </div>
        <MisfireFields draft={draft} onChange={change} fault={fault("misfire_grace_s")} />
        <StartFields field={field} options={draft} isUsed={draft.params.length > 0}>
          <Pairs label={t("params")} {...field("params")} pairs={draft.params} />
        </StartFields>
        <Checkbox
          label={t("fireAtOnce")}
          checked={draft.state === "ONLINE"}
          onChange={(event) => change({ state: event.currentTarget.checked ? "ONLINE" : "OFFLINE" })}
        />
      </div>
      <FireTimes of={preview} zone={rule.time_zone} cron={rule.cron} isRuleWrong={ruleFault !== undefined} />
      <div className="editor-end">
        {schedule?.from_file && <p className="mute">{t("fromFileHelp")}</p>}
        <Refusal error={faultBeside(saving.error, ...SHOWN)} />
        {isOutdated(saving.error) && <p className="mute">{t("outdated")}</p>}
        <div className="dialog-end">
          <Act variant="default" onClick={onClose} word={t("cancel")} />
          <Submit
            isPending={saving.isPending}
            why={whyNot ?? (draft.code === null ? t("chooseFirst") : null)}
            word={t("save")}
          />
        </div>
      </div>
    </form>
  );
}

function ruleOf({ cron, time_zone, start_time, end_time }: Draft) {
  return { cron: cron.trim() || "?", time_zone, start_time: start_time || null, end_time: end_time || null };
}

function isOutdated(error: Error | null): boolean {
  return error instanceof ApiProblem && error.status === 412;
}

function save(draft: Draft, before: Draft, schedule: Detail | undefined) {
  if (schedule === undefined)
    return api.POST("/api/v1/workflow-definitions/{code}/schedules", {
      params: { path: { code: draft.code ?? "" } },
      body: { ...sentOf(draft), params: valuesOf(draft.params), again: false },
    });
  return api.PATCH("/api/v1/schedules/{id}", {
    params: { path: { id: schedule.id }, header: match(schedule.version) },
    body: changesOf(draft, before),
  });
}

interface Props {
  draft: Draft;
  onChange: (to: Partial<Draft>) => void;
  fault: string | undefined;
}

/** What happens with fire times that were missed, in words. */
function MisfireFields({ draft, onChange, fault }: Props) {
  const { t } = useTranslation("schedules");
  return (
    <Radio.Group
      label={t("misfireTitle")}
      value={draft.misfire}
      onChange={(value) => onChange({ misfire: MISFIRES.find((each) => each === value) ?? "FIRE_ONCE" })}
    >
      <div className="misfires">
        {MISFIRES.map((each) => (
          <Radio key={each} value={each} label={t(`rule.${each}`)} description={t(`ruleHelp.${each}`)} size="xs" />
        ))}
        <NumberInput
          label={t("grace")}
          description={t("graceHelp")}
          suffix=" s"
          w={240}
          min={0}
          value={draft.grace_s}
          error={fault}
          onChange={(grace_s) => onChange({ grace_s: Number(grace_s) || 0 })}
        />
      </div>
    </Radio.Group>
  );
}

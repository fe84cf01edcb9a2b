import { NumberInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Confirm } from "@/forms/Confirm";
import { faultAt, faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { Panel } from "@/parts/Panel";
import { SaveProject, useSaveProject } from "./useSaveProject";

/** For how many days ended runs of a project are kept; empty = as the masters' settings say. */
export function Keep({ project }: { project: Schemas["ProjectPageAnswer"] }) {
  const { t } = useTranslation("settings");
  const { save, whyNot } = useSaveProject(project);
  const [days, setDays] = useState<number | string>(project.kept_days ?? "");
  const [isAsking, setAsking] = useState(false);
  const change = { kept_days: days === "" ? ("default" as const) : Number(days) };
  const mutate = () => save.mutate(change, { onSuccess: () => setAsking(false) });
  const onSave = () => (isShorter(project.kept_days ?? null, days) ? setAsking(true) : mutate());
  return (
    <Panel
      title={t("keep")}
      end={<SaveProject {...{ save, whyNot, onSave }} isSame={days === (project.kept_days ?? "")} variant="default" />}
    >
      <div className="fields pad">
        <NumberInput
          label={t("keptDays")}
          description={t("keptDaysHelp")}
          placeholder={t("keptDaysDefault")}
          min={0}
          max={36_500}
          allowDecimal={false}
          value={days}
          readOnly={whyNot !== null || save.isPending}
          error={faultAt(save.error, "kept_days")}
          onChange={setDays}
        />
        <div className="whole">
          <Refusal error={faultBeside(save.error, "kept_days")} />
        </div>
      </div>
      {isAsking && (
        <Confirm
          title={t("shorterTitle", { name: project.name })}
          verb={t("shorterVerb")}
          sending={{ ...save, mutate }}
          onClose={() => setAsking(false)}
        >
          <p>{days === "" ? t("shorterDefaultHelp") : t("shorterHelp", { count: Number(days) })}</p>
        </Confirm>
      )}
    </Panel>
  );
}

/** Whether runs may go earlier with the new time than with the old one. What the masters' settings say is not known here. */
function isShorter(before: number | null, now: number | string): boolean {
  if (now === 0 || before === now) return false;
  return before === 0 || before === null || now === "" || Number(now) < before;
}

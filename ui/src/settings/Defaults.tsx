import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { FieldInput } from "@/editor/FieldInput";
import type { Field } from "@/editor/model/fields";
import { asObject } from "@/editor/model/read";
import { faultAt, faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { Panel } from "@/parts/Panel";
import { SaveProject, useSaveProject } from "./useSaveProject";

const FIELD: Field = { name: "defaults", kind: "pairs", isRequired: false, standard: undefined, choices: [] };

/** The fields that the tasks of a project get as their files are saved. */
export function Defaults({ project }: { project: Schemas["ProjectPageAnswer"] }) {
  const { t } = useTranslation("settings");
  const { save, whyNot } = useSaveProject(project);
  const [given, setGiven] = useState<unknown>(Object.keys(project.defaults).length > 0 ? project.defaults : undefined);
  const wanted = asObject(given);
  const without = Object.keys(project.defaults).filter((name) => !(name in wanted));
  const onSave = () => save.mutate({ defaults: wanted, without_defaults: without });
  const isSame = JSON.stringify(wanted) === JSON.stringify(project.defaults);
  return (
    <Panel title={t("defaults")} end={<SaveProject {...{ save, whyNot, isSame, onSave }} variant="default" />}>
      <div className="form pad">
        <p className="mute">{t("defaultsHelp")}</p>
        <FieldInput
          field={FIELD}
          value={given}
          isFixed={whyNot !== null || save.isPending}
          error={faultAt(save.error, "defaults")}
          onChange={setGiven}
        />
        <Refusal error={faultBeside(save.error, "defaults")} />
      </div>
    </Panel>
  );
}

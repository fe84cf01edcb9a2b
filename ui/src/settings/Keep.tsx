import { NumberInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match, type Schemas } from "@/api/client";
import { Confirm } from "@/forms/Confirm";
import { faultAt, faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Panel } from "@/parts/Panel";

/** For how many days ended runs of a project are kept; empty = as the masters' settings say. */
export function Keep({ project }: { project: Schemas["ProjectPageAnswer"] }) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("OWNER", project.name);
  const done = useDone("projects");
  const [days, setDays] = useState<number | string>(project.kept_days ?? "");
  const [isAsking, setAsking] = useState(false);
  const save = useMutation({
    mutationFn: () =>
      api.PATCH("/api/v1/projects/{name}", {
        params: { path: { name: project.name }, header: match(project.version) },
        body: { without: [], kept_days: days === "" ? "default" : Number(days) },
      }),
    onSuccess: () => {
      setAsking(false);
      return done(t("savedNamed", { name: project.name }));
    },
  });
  return (
    <Panel
      title={t("keep")}
      end={
        <Act
          size="xs"
          variant="default"
          loading={save.isPending}
          why={whyNot ?? (days === (project.kept_days ?? "") ? t("nothingChanged") : null)}
          onClick={() => (isShorter(project.kept_days ?? null, days) ? setAsking(true) : save.mutate())}
        >
          {t("save")}
        </Act>
      }
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
          sending={save}
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

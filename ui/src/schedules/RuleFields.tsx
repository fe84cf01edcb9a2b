import { SegmentedControl, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { cronWords } from "@/parts/cronWords";
import { ChoiceFields } from "./ChoiceFields";
import { asFive, asQuartz, type Choices, choicesOf, ruleOf, type Unit, USUAL } from "./cron";

const UNITS: Unit[] = ["minutes", "hours", "days", "weeks", "months"];

interface Props {
  cron: string;
  onChange: (cron: string) => void;
  /** What the server says is wrong with it. */
  fault: string | undefined;
}

/** A rule in words, by choices, in Quartz's fields and in five: each follows the others. */
export function RuleFields({ cron, onChange, fault }: Props) {
  const { t, i18n } = useTranslation("schedules");
  const [last, setLast] = useState<Choices>(() => choicesOf(cron) ?? USUAL);
  const choices = choicesOf(cron);
  const five = asFive(cron);
  const choose = (to: Partial<Choices>) => {
    const next = { ...last, ...choices, ...to };
    setLast(next);
    onChange(ruleOf(next));
  };
  return (
    <div className="rule">
      <p className="rule-words" aria-live="polite">
        {cronWords(cron, i18n.language)}
      </p>
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label={t("unit")}
        data={[
          ...UNITS.map((unit) => ({ value: unit, label: t(`unit.${unit}`) })),
          ...(choices === null ? [{ value: "own", label: t("unit.own") }] : []),
        ]}
        value={choices?.unit ?? "own"}
        onChange={(unit) => unit !== "own" && choose({ unit: unit as Unit, ...(unit === "hours" ? { every: 1 } : {}) })}
      />
      {choices !== null && <ChoiceFields choices={choices} onChange={choose} />}
      <div className="fields">
        <TextInput
          label={t("quartz")}
          description={t("quartzHelp")}
          classNames={{ input: "mono" }}
          value={asQuartz(cron)}
          onChange={(event) => onChange(event.currentTarget.value)}
          error={fault}
        />
        <FiveField five={five} onChange={onChange} />
      </div>
    </div>
  );
}

/** The five fields keep what is typed while it is no rule yet. */
function FiveField({ five, onChange }: { five: ReturnType<typeof asFive>; onChange: (cron: string) => void }) {
  const { t } = useTranslation("schedules");
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <TextInput
      label={t("five")}
      description={"why" in five && typed === null ? t(`five.${five.why}`) : t("fiveHelp")}
      classNames={{ input: "mono" }}
      value={typed ?? ("five" in five ? five.five : "")}
      onChange={(event) => {
        const text = event.currentTarget.value;
        setTyped(text);
        if (text.trim().split(/\s+/).length === 5 || text.trim().startsWith("@")) onChange(asQuartz(text));
      }}
      onBlur={() => setTyped(null)}
    />
  );
}

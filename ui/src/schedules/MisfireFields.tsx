import { NumberInput, Radio } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { type Draft, MISFIRES } from "./draft";

interface Props {
  draft: Draft;
  onChange: (to: Partial<Draft>) => void;
  fault: string | undefined;
}

/** What happens with fire times that were missed, in words. */
export function MisfireFields({ draft, onChange, fault }: Props) {
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

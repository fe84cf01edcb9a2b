import { Select } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";

type TokensEnd = Schemas["TokensEnd"];

export const END_TOKENS: TokensEnd = "MADE_BY_SESSIONS";
const CHOICES: TokensEnd[] = [END_TOKENS, "ALL", "NONE"];

/** Which tokens of an account end with its old password. */
export function EndTokens({ value, onChange }: { value: TokensEnd; onChange: (value: TokensEnd) => void }) {
  const { t } = useTranslation("settings");
  return (
    <Select
      label={t("endTokens")}
      allowDeselect={false}
      data={CHOICES.map((each) => ({ value: each, label: t(`endTokens.${each}`) }))}
      value={value}
      onChange={(chosen) => onChange(chosen as TokensEnd)}
    />
  );
}

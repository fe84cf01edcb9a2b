import { Select } from "@mantine/core";
import { useTranslation } from "react-i18next";

const KNOWN = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];
const SHOWN_MAX = 60;

interface Props {
  label: string;
  value: string;
  onChange: (zone: string) => void;
  description?: string;
  error?: string | undefined;
}

/** Chooses a time zone by a part of its name. */
export function ZoneSelect({ label, value, onChange, description, error }: Props) {
  const { t } = useTranslation("forms");
  return (
    <Select
      label={label}
      description={description}
      error={error}
      data={KNOWN.includes(value) || value === "" ? KNOWN : [value, ...KNOWN]}
      value={value}
      onChange={(zone) => zone !== null && onChange(zone)}
      searchable
      allowDeselect={false}
      limit={SHOWN_MAX}
      nothingFoundMessage={t("noZone")}
    />
  );
}

import { Autocomplete, Select } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { CHOICES, OPTIONS, type Option, type StartOptions } from "./startOptions";
import { useKnown } from "./useKnown";

interface Props<Name extends Option> {
  /** What a field shows, what is wrong with it, and how it changes. */
  field: (name: Name) => { value: string; error?: string | undefined; onChange: (value: string) => void };
  /** What stands in a field in which nothing is given. */
  none?: string;
  names: readonly Name[];
}

/** A field for each option of a start. */
export function OptionFields<Name extends Option>({ field, none, names }: Props<Name>) {
  const { t } = useTranslation("forms");
  const known = useKnown();
  return names.map((name) => {
    const { value, onChange, error } = field(name);
    const word: Option = name;
    const common = { label: t(`option.${word}`), placeholder: none ?? t("asWorkflow"), error };
    const choices = CHOICES[name]?.map((each) => ({ value: each, label: t(`choice.${each}`) }));
    return choices === undefined ? (
      <Autocomplete key={name} {...common} data={known[name]} value={value} onChange={onChange} />
    ) : (
      <Select
        key={name}
        {...common}
        data={choices}
        value={value || null}
        clearable
        onChange={(chosen) => onChange(chosen ?? "")}
      />
    );
  });
}

interface FoldedProps extends Pick<Props<Option>, "field"> {
  options: StartOptions;
  /** Whether something above the fields is given. */
  isUsed?: boolean;
  /** Above the fields. */
  children: ReactNode;
}

/** The same, folded while nothing is given. */
export function StartFields({ options, field, isUsed = false, children }: FoldedProps) {
  const { t } = useTranslation("forms");
  const [isOpen] = useState(isUsed || OPTIONS.some((name) => options[name] !== ""));
  return (
    <details className="start-fields" open={isOpen || undefined}>
      <summary>{t("startOptions")}</summary>
      <div className="form">
        {children}
        <div className="fields">
          <OptionFields field={field} names={OPTIONS} />
        </div>
      </div>
    </details>
  );
}

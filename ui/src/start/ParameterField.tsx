import { PasswordInput, Select, Switch, Textarea, TextInput } from "@mantine/core";
import { IconArrowBackUp } from "@tabler/icons-react";
import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";
import { IconAct } from "@/parts/IconAct";
import { choicesOf, type Given, inputOf, type Parameter } from "./parameters";

interface AllProps {
  parameters: Parameter[];
  /** As they were typed. */
  typed: Given["typed"];
  /** What is wrong with one of them. */
  faultOf: (name: string) => string | undefined;
  /** Whether the first one gets the focus when the dialog opens. */
  hasFocus?: boolean;
  onChange: (typed: Given["typed"]) => void;
}

/** A field for each parameter, as its type asks for, filled with its default. */
export function ParameterFields({ parameters, typed, faultOf, hasFocus = false, onChange }: AllProps) {
  return parameters.map((each, place) => (
    <ParameterField
      key={each.name}
      parameter={each}
      typed={typed[each.name]}
      error={faultOf(each.name)}
      isFirst={hasFocus && place === 0}
      onChange={(value) => onChange({ ...typed, [each.name]: value })}
    />
  ));
}

interface Props {
  parameter: Parameter;
  /** As it was typed; undefined = the default counts. */
  typed: string | undefined;
  error: string | undefined;
  /** Whether it gets the focus when the dialog opens. */
  isFirst: boolean;
  onChange: (typed: string | undefined) => void;
}

function ParameterField({ parameter, typed, error, isFirst, onChange }: Props) {
  const { t } = useTranslation("start");
  const { name, standard, min, max } = parameter;
  const input = inputOf(parameter);
  const value = typed ?? standard ?? "";
  const description = [parameter.description, boundsOf(parameter, t)].filter(Boolean).join(" · ");
  const common = {
    label: name,
    description: description || undefined,
    inputWrapperOrder: ["label", "input", "description", "error"] as ("label" | "input" | "description" | "error")[],
    error,
    withAsterisk: parameter.isRequired,
    "data-autofocus": isFirst || undefined,
  };
  const text = { ...common, value, onChange: (event: Typed) => onChange(event.currentTarget.value) };
  const number = input === "number" ? { type: "number", min, max, step: stepOf(parameter) } : {};
  const field = {
    secret: () => <PasswordInput {...text} autoComplete="off" />,
    choice: () => (
      <Select
        {...common}
        data={choicesOf(parameter)}
        value={value || null}
        clearable={!parameter.isRequired}
        onChange={(chosen) => onChange(chosen ?? "")}
      />
    ),
    yesNo: () => (
      <Switch
        label={name}
        description={common.description}
        error={error}
        data-autofocus={common["data-autofocus"]}
        checked={value.toLowerCase() === "true"}
        onChange={(event) => onChange(String(event.currentTarget.checked))}
      />
    ),
    number: () => <TextInput {...text} {...number} />,
    date: () => <TextInput {...text} type="date" min={min} max={max} />,
    long: () => <Textarea {...text} autosize minRows={2} maxRows={10} classNames={{ input: "mono" }} />,
    text: () => <TextInput {...text} />,
  }[input]();
  const isChanged = typed !== undefined && typed !== (standard ?? "");
  return (
    <div className="run-field">
      {field}
      {isChanged && <IconAct icon={IconArrowBackUp} word={t("reset", { name })} onClick={() => onChange(undefined)} />}
    </div>
  );
}

type Typed = { currentTarget: { value: string } };

function boundsOf({ min, max }: Parameter, t: TFunction<"start">): string {
  if (min !== undefined && max !== undefined) return t("between", { min, max });
  if (min !== undefined) return t("atLeast", { min });
  return max === undefined ? "" : t("atMost", { max });
}

function stepOf({ type }: Parameter): string {
  return type === "INTEGER" || type === "LONG" ? "1" : "any";
}

import {
  Autocomplete,
  MultiSelect,
  type OptionsFilter,
  Select,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { parse, stringify } from "yaml";
import type { Field } from "./model/fields";
import { textsOf } from "./model/read";

interface Props {
  field: Field;
  label?: string;
  /** Whether the label is read out, but not shown. */
  isBare?: boolean;
  value: unknown;
  isFixed: boolean;
  error?: string | undefined;
  /** Known values, such as the names of data sources. */
  names?: string[] | undefined;
  /** Whether there can be no others. */
  isClosed?: boolean;
  onChange: (value: unknown) => void;
}

/** A value of a form, in the way that its schema asks for. Undefined = nothing is given, the standard counts. */
export function FieldInput({
  field,
  isBare = false,
  value,
  isFixed,
  error,
  names = [],
  isClosed,
  onChange,
  ...said
}: Props) {
  const { t } = useTranslation("editor");
  const { name, kind, standard, choices } = field;
  const { label = t(`field.${name}`, { defaultValue: name }) } = said;
  const word = (choice: string) => t([`choice.${name}.${choice}`, `choice.${choice}`], { defaultValue: choice });
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  const common = {
    ...(isBare ? { "aria-label": label } : { label }),
    description: field.description || undefined,
    error,
    readOnly: isFixed,
    withAsterisk: field.isRequired,
    placeholder:
      standardOf(kind === "choice" && typeof standard === "string" ? word(standard) : standard) ||
      t(`example.${name}`, { defaultValue: "" }),
    title: name,
  };
  if (kind === "choice")
    return (
      <Select
        {...common}
        data={[...new Set([...choices, ...(text === "" ? [] : [text])])].map((each) => ({
          value: each,
          label: word(each),
        }))}
        value={text || null}
        searchable={choices.length > SEARCHED_MIN}
        clearable={!field.isRequired && !isFixed}
        onChange={(chosen) => onChange(chosen ?? undefined)}
      />
    );
  if (kind === "yesNo")
    return (
      <Switch
        label={label}
        title={name}
        checked={typeof value === "boolean" ? value : standard === true}
        aria-readonly={isFixed}
        onChange={(event) => {
          const isOn = event.currentTarget.checked;
          if (!isFixed) onChange(isOn === (standard === true) ? undefined : isOn);
        }}
      />
    );
  if (kind === "code")
    return (
      <Textarea
        {...common}
        {...CODE}
        value={typeof value === "string" ? value : value === undefined ? "" : stringify(value).trimEnd()}
        minRows={4}
        maxRows={16}
        onChange={(event) => onChange(codeOf(event.currentTarget.value, value))}
      />
    );
  if (kind === "texts") {
    const given = textsOf(value);
    const onTexts = (texts: string[]) =>
      onChange(texts.length > 1 || (texts.length > 0 && !field.hasShort) ? texts : texts[0]);
    const several = { ...common, value: given, onChange: onTexts };
    if (!isClosed) return <TagsInput {...several} data={[...names, ...choices]} />;
    const data = [...new Set([...names, ...given])];
    return <MultiSelect {...several} data={data} searchable nothingFoundMessage={t("noTask")} />;
  }
  if (kind === "yaml") return <YamlField {...common} value={value} onChange={onChange} />;
  const typed = {
    ...common,
    value: text,
    spellCheck: false,
    inputMode: kind === "number" ? ("decimal" as const) : undefined,
  };
  const take = (given: string) => onChange(given === "" ? undefined : kind === "number" ? numberIn(given) : given);
  const suggested = names.length > 0 ? names : choices;
  if (suggested.length > 0) return <Autocomplete {...typed} data={suggested} filter={filtered} onChange={take} />;
  return <TextInput {...typed} onChange={(event) => take(event.currentTarget.value)} />;
}

/** Choices are searched by what is typed if there are more of them. */
const SEARCHED_MIN = 10;
const CODE = { autosize: true, spellCheck: false, classNames: { input: "mono" } };

/** A parameter such as ${count} may stand where a number is asked for, and a number grows as it is typed. */
function numberIn(typed: string): string | number {
  return String(Number(typed)) === typed ? Number(typed) : typed;
}

/** All names while one of them is given, or those that contain what is typed. */
function filtered({ options, search }: Parameters<OptionsFilter>[0]) {
  const labels = options.flatMap((each) => ("label" in each ? each.label : []));
  if (labels.includes(search)) return options;
  const sought = search.trim().toLowerCase();
  return options.filter((each) => "label" in each && each.label.toLowerCase().includes(sought));
}

interface YamlFieldProps {
  label?: string;
  error?: string | undefined;
  placeholder?: string | undefined;
  title: string;
  value: unknown;
  onChange: (value: unknown) => void;
}

/** Values without a simple field, as YAML; what cannot be read is not passed on, and says why. */
function YamlField({ value, onChange, error, ...rest }: YamlFieldProps) {
  const { t } = useTranslation("editor");
  const written = value === undefined ? "" : stringify(value, { lineWidth: 0 }).trimEnd();
  const [typed, setTyped] = useState(written);
  const [fault, setFault] = useState<string | null>(null);
  const [isTyping, setIsTyping] = useState(false);
  useEffect(() => {
    if (!isTyping) setTyped(written);
  }, [written, isTyping]);
  const take = (next: string) => {
    setTyped(next);
    try {
      onChange(next.trim() === "" ? undefined : (parse(next) as unknown));
      setFault(null);
    } catch {
      setFault(t("badYaml"));
    }
  };
  return (
    <Textarea
      {...rest}
      {...CODE}
      placeholder={rest.placeholder || t("asYaml")}
      error={fault ?? error}
      value={typed}
      minRows={1}
      maxRows={14}
      onFocus={() => setIsTyping(true)}
      onBlur={() => setIsTyping(false)}
      onChange={(event) => take(event.currentTarget.value)}
    />
  );
}

/** A script stays a text; a list of statements stays a list while what is typed is one. */
function codeOf(typed: string, before: unknown): unknown {
  if (typed === "") return undefined;
  if (typeof before !== "object" || before === null) return typed;
  try {
    return parse(typed) as unknown;
  } catch {
    return typed;
  }
}

function standardOf(standard: unknown): string | undefined {
  const isShown = standard !== undefined && standard !== null && standard !== "" && typeof standard !== "object";
  return isShown ? String(standard) : undefined;
}

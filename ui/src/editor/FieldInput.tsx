import { NumberInput, Select, type SelectProps, Switch, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { parse, stringify } from "yaml";
import type { Field } from "./model/fields";
import { asObject, textsOf } from "./model/read";

interface Props {
  field: Field;
  value: unknown;
  isFixed: boolean;
  error?: string;
  /** Known values of a text, such as the names of data sources. */
  known?: string[];
  onChange: (value: unknown) => void;
}

/** One field of a form, in the way that its schema asks for. Undefined = nothing is given, the standard counts. */
export function FieldInput({ field, value, isFixed, error, known, onChange }: Props) {
  const { t } = useTranslation("editor");
  const label = t(`field.${field.name}`, { defaultValue: field.name });
  const { kind, standard } = field;
  const said = standardOf(standard);
  const common = {
    label,
    error,
    readOnly: isFixed,
    withAsterisk: field.isRequired,
    placeholder: said === "" ? undefined : said,
    title: field.name,
  };
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  const choice = (given: SelectProps) => (
    <Select {...common} value={text || null} onChange={(chosen) => onChange(chosen ?? undefined)} {...given} />
  );
  if (kind === "choice") return choice({ data: field.choices, clearable: !field.isRequired && !isFixed });
  if (kind === "yesNo")
    return (
      <Switch
        label={label}
        title={field.name}
        checked={typeof value === "boolean" ? value : standard === true}
        aria-readonly={isFixed}
        onChange={(event) => {
          const isOn = event.currentTarget.checked;
          if (!isFixed) onChange(isOn === (standard === true) ? undefined : isOn);
        }}
      />
    );
  // A parameter such as ${count} may stand where a number is asked for.
  if (kind === "number" && typeof value !== "string")
    return (
      <NumberInput
        {...common}
        value={typeof value === "number" ? value : ""}
        min={field.minimum}
        max={field.maximum}
        hideControls
        onChange={(typed) => onChange(typeof typed === "number" ? typed : undefined)}
      />
    );
  if (kind === "code")
    return (
      <Textarea
        {...common}
        value={typeof value === "string" ? value : value === undefined ? "" : stringify(value).trimEnd()}
        autosize
        minRows={4}
        maxRows={16}
        spellCheck={false}
        classNames={{ input: "mono" }}
        onChange={(event) => onChange(codeOf(event.currentTarget.value, value))}
      />
    );
  if (kind === "texts")
    return (
      <TagsInput
        {...common}
        data={known}
        value={textsOf(value)}
        onChange={(given) => onChange(given.length > 0 ? given : undefined)}
      />
    );
  if (kind === "pairs" || kind === "yaml")
    return <YamlField {...common} isMap={kind === "pairs"} value={value} onChange={onChange} />;
  if (known !== undefined && known.length > 0)
    return choice({
      data: text !== "" && !known.includes(text) ? [...known, text] : known,
      searchable: true,
      clearable: !isFixed,
    });
  return <TextInput {...common} value={text} onChange={(event) => onChange(event.currentTarget.value || undefined)} />;
}

interface YamlFieldProps {
  label: string;
  error?: string;
  readOnly: boolean;
  withAsterisk: boolean;
  placeholder?: string;
  title: string;
  isMap: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}

/** Values without a simple field, as YAML; what cannot be read is not passed on, and says why. */
function YamlField({ isMap, value, onChange, error, ...rest }: YamlFieldProps) {
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
      const found: unknown = next.trim() === "" ? undefined : parse(next);
      if (isMap && found !== undefined && Object.keys(asObject(found)).length === 0) return setFault(t("pairsHelp"));
      setFault(null);
      onChange(found);
    } catch {
      setFault(t("badYaml"));
    }
  };
  return (
    <Textarea
      {...rest}
      placeholder={rest.placeholder ?? (isMap ? t("pairsHelp") : t([`example.${rest.title}`, "asYaml"]))}
      error={fault ?? error}
      value={typed}
      autosize
      minRows={1}
      maxRows={14}
      spellCheck={false}
      classNames={{ input: "mono" }}
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

function standardOf(standard: unknown): string {
  if (standard === undefined || standard === null || standard === "") return "";
  if (typeof standard === "object") return "";
  return String(standard);
}

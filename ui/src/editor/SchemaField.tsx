import { Select } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { FieldInput } from "./FieldInput";
import { Folded } from "./Folded";
import type { Path } from "./model/edits";
import { blankOf, type Field, fitting } from "./model/fields";
import { asObject, isObject } from "./model/read";
import { type Around, WithNames } from "./names";
import { MapRows, Rows } from "./Rows";

/** What the fields are about, and how they change it. */
export interface Scope extends Around {
  isFixed: boolean;
  /** Set a value; `instead` is a field beside it that goes. */
  set: (path: Path, value: unknown, instead?: string) => void;
  /** Give a key of a mapping another name. */
  rename: (path: Path, to: string) => boolean;
}

interface Props {
  field: Field;
  path: Path;
  value: unknown;
  /** The values beside it, and around them. */
  values: Record<string, unknown>;
  scope: Scope;
  /** What it is called, if that is no word of ours. */
  label?: string;
  /** Whether the label is read out, but not shown. */
  isBare?: boolean;
  /** What stands there while nothing is given. */
  none?: unknown;
}

/** Fields of which only one can be given. */
const INSTEAD: Record<string, string> = { "DEPENDENT.cycle": "at", "DEPENDENT.at": "cycle" };
/** An object with more fields folds those that it need not have. */
const FLAT_MAX = 6;

/** A field of a schema: an input, or for what has fields of its own, those. */
export function SchemaField({ field: given, path, value, values, scope, isBare = false, ...rest }: Props) {
  const { t } = useTranslation("editor");
  const field = fitting(given, value);
  const key = `${scope.type}.${field.name}`;
  const label = rest.label ?? t([`field.${key}`, `field.${field.name}`], { defaultValue: field.name });
  const own = { field, path, value, values, scope, label };
  if (field.kind === "rows") return <Rows {...own} />;
  if (field.kind === "map") return <MapRows {...own} />;
  if (field.kind === "one") return <OneOf {...own} />;
  if (field.kind === "part") return <Part {...own} isBare={isBare} none={rest.none} />;
  // A row keeps what it must have, even while it is empty.
  const isKept = field.isRequired && path.some((step) => typeof step === "number");
  const { none = isKept ? blankOf(field) : undefined } = rest;
  return (
    <WithNames {...scope} name={field.name} values={values}>
      {({ names, isClosed = false }) => (
        <FieldInput
          field={field}
          label={label}
          isBare={isBare}
          value={value}
          isFixed={scope.isFixed}
          names={names}
          isClosed={isClosed}
          error={field.isRequired && (value === undefined || value === "") ? t("required") : undefined}
          onChange={(next) => scope.set(path, next ?? none, INSTEAD[key])}
        />
      )}
    </WithNames>
  );
}

export interface OwnProps extends Omit<Props, "isBare" | "none"> {
  label: string;
}

type FieldsProps = Pick<Props, "path" | "values" | "scope"> & {
  fields: Field[];
  value: Record<string, unknown>;
  main?: string;
};

/** The fields of an object; if they are many, those that it need not have are folded. */
export function Fields({ fields, path, value, values, scope, main }: FieldsProps) {
  const { t } = useTranslation("editor");
  const several = fields.some(({ name }) => Array.isArray(value[name]) && (value[name] as unknown[]).length > 1);
  // How rows are joined matters once there are several.
  const shown = fields.filter(({ name }) => name !== "relation" || several || value.relation !== undefined);
  const isFolded = (each: Field) => fields.length > FLAT_MAX && !each.isRequired && each.name !== main;
  const drawn = (each: Field) => (
    <SchemaField
      key={each.name}
      field={each}
      path={[...path, each.name]}
      value={value[each.name]}
      values={{ ...values, ...value }}
      scope={scope}
    />
  );
  const folded = shown.filter(isFolded);
  return (
    <>
      {shown.filter((each) => !isFolded(each)).map(drawn)}
      {folded.length > 0 && (
        <Folded word={t("more")} given={folded.filter(({ name }) => value[name] !== undefined).length}>
          {folded.map(drawn)}
        </Folded>
      )}
    </>
  );
}

/** The fields of a task or workflow, never folded. */
export function SchemaFields({ fields, path, value, scope }: Pick<FieldsProps, "fields" | "path" | "value" | "scope">) {
  return fields.map((each) => (
    <SchemaField
      key={each.name}
      field={each}
      path={[...path, each.name]}
      value={value[each.name]}
      values={value}
      scope={scope}
    />
  ));
}

/** An object. While only its main field is given, the text may have the value of that alone. */
function Part({
  field,
  path,
  value,
  values,
  scope,
  label,
  isBare,
  none,
}: OwnProps & Pick<Props, "none"> & { isBare: boolean }) {
  const main = field.hasShort ? (field.fields.find((each) => each.isRequired) ?? field.fields.at(-1))?.name : undefined;
  const isShort = main !== undefined && value !== undefined && !isObject(value);
  const isAbsent = value === undefined && !field.isRequired;
  const set: Scope["set"] = (at, given, instead) => {
    const [name = "", ...inner] = at.slice(path.length).map(String);
    const others = Object.keys(asObject(value)).filter((each) => each !== name);
    if (name === main && inner.length === 0 && others.length === 0) scope.set(path, given ?? none);
    else if (isShort && given !== undefined) scope.set(path, { [main]: value, [name]: given });
    else scope.set(at, given, instead);
  };
  const fields = (
    <Fields
      fields={isAbsent ? field.fields.map((each) => ({ ...each, isRequired: false })) : field.fields}
      path={path}
      value={isShort ? { [main]: value } : asObject(value)}
      values={values}
      scope={{ ...scope, set }}
      {...(main !== undefined && { main })}
    />
  );
  if (isBare) return <div className="form bare">{fields}</div>;
  return (
    <fieldset className="form framed">
      <legend>{label}</legend>
      {fields}
    </fieldset>
  );
}

/** One of several: which one, and its field. */
function OneOf({ field, path, value, values, scope, label }: OwnProps) {
  const { t } = useTranslation("editor");
  const chosen = field.fields.find((each) => each.name === Object.keys(asObject(value))[0]);
  return (
    <>
      <Select
        label={label}
        data={field.fields.map(({ name }) => ({ value: name, label: t(`one.${name}`, { defaultValue: name }) }))}
        value={chosen?.name ?? null}
        readOnly={scope.isFixed}
        allowDeselect={false}
        withAsterisk
        error={chosen === undefined ? t("required") : undefined}
        onChange={(name) => {
          const next = field.fields.find((each) => each.name === name);
          if (next !== undefined && next !== chosen) scope.set(path, { [next.name]: blankOf(next) });
        }}
      />
      {chosen !== undefined && (
        <SchemaField
          field={{ ...chosen, isRequired: true }}
          path={[...path, chosen.name]}
          value={asObject(value)[chosen.name]}
          values={values}
          scope={scope}
          isBare={chosen.kind === "part"}
        />
      )}
    </>
  );
}

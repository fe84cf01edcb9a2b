/** The fields of a form, from a JSON Schema: also those of the parts, rows and mappings in it. */
import { asObject, isObject } from "./read";

/** `one`: a part of which exactly one field is given. `map`: values by names that the author chooses. */
export type Kind = "text" | "code" | "number" | "choice" | "yesNo" | "texts" | "yaml" | "part" | "one" | "rows" | "map";

export interface Field {
  name: string;
  kind: Kind;
  isRequired: boolean;
  description?: string;
  /** What counts if nothing is given. */
  standard?: unknown;
  choices: string[];
  /** Those of a part or of each row; of a map, the one of its values. */
  fields: Field[];
  /** Whether one text may stand for a list, or the value of its main field for a part. */
  hasShort: boolean;
  /** As what else it may be written. */
  other?: Field;
}

type Schema = Record<string, unknown>;

const CODE = new Set(["script", "sql", "pre_statements", "post_statements", "body", "text"]);

/** A field without anything special. */
export function plainField(name: string, kind: Kind): Field {
  return { name, kind, isRequired: false, choices: [], fields: [], hasShort: false };
}

/** The fields of an object's schema, in its order, the required ones first. */
export function fieldsOf(schema: Schema | null | undefined): Field[] {
  if (!schema) return [];
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const found = Object.entries(asObject(schema.properties)).map(([name, given]) =>
    fieldOf(name, asObject(given), required.has(name), schema),
  );
  return [...found.filter((field) => field.isRequired), ...found.filter((field) => !field.isRequired)];
}

function fieldOf(name: string, given: Schema, isRequired: boolean, root: Schema): Field {
  const options = optionsOf(given, root);
  const [first] = options;
  const hasShort = options.length > 1;
  const list = options.find((each) => each.type === "array");
  const items = optionsOf(asObject(list?.items), root);
  const field = { ...plainField(name, "yaml"), isRequired, standard: given.default, choices: choicesOf(options) };
  const fieldsIn = (part: Schema) => fieldsOf({ ...part, $defs: root.$defs });
  if (CODE.has(name) && options.some(isText)) return { ...field, kind: "code" };
  if (field.choices.length > 0) return { ...field, kind: "choice" };
  const part = options.find(isPart);
  if (part?.maxProperties === 1) return { ...field, kind: "one", fields: fieldsIn(part) };
  if (part !== undefined) return { ...field, kind: "part", fields: fieldsIn(part), hasShort };
  const [row] = items;
  const rows =
    row !== undefined && isPart(row) ? { ...field, kind: "rows" as const, fields: fieldsIn(row) } : undefined;
  const map = options.find((each) => each.type === "object");
  if (map !== undefined && !options.some(isText)) {
    const [value] = Object.values(asObject(map.patternProperties));
    const inner = fieldOf("value", asObject(value ?? map.additionalProperties), false, root);
    const values: Field = { ...field, kind: "map", fields: [inner] };
    if (rows === undefined) return values;
    return options[0] === map ? { ...values, other: rows } : { ...rows, other: values };
  }
  if (rows !== undefined) return rows;
  if (list !== undefined && (hasShort ? items.some(isText) : items.every(isPlain)))
    return { ...field, kind: "texts", choices: choicesOf(items), hasShort };
  if (options.some(isText) || options.every((each) => each.type === undefined)) return { ...field, kind: "text" };
  if (hasShort) return field;
  if (first?.type === "boolean") return { ...field, kind: "yesNo" };
  return isPlain(first ?? {}) ? { ...field, kind: "number" } : field;
}

/** The field as which a value can be shown: itself, what else it may be, or else its YAML. */
export function fitting(field: Field, value: unknown): Field {
  if (value === undefined || fits(field, value)) return field;
  return field.other !== undefined && fits(field.other, value) ? field.other : { ...field, kind: "yaml" };
}

function fits({ kind, hasShort }: Field, value: unknown): boolean {
  if (kind === "part") return hasShort || isObject(value);
  if (kind === "one") return isObject(value) && Object.keys(value).length === 1;
  if (kind === "map") return isObject(value);
  if (kind === "rows") return Array.isArray(value) && value.every(isObject);
  if (kind === "texts")
    return !isObject(value) && !(Array.isArray(value) && value.some((each) => each instanceof Object));
  if (kind === "yesNo") return typeof value === "boolean";
  return kind === "code" || typeof value === "string" || typeof value === "number";
}

/** What a new value begins with: all that it must have, empty. */
export function blankOf(field: Field): unknown {
  if (field.kind === "rows") return [blankPart(field.fields)];
  if (field.kind === "part")
    return field.hasShort && !field.fields.some((each) => each.isRequired) ? "" : blankPart(field.fields);
  if (field.kind === "texts") return [];
  return field.kind === "map" ? {} : (field.choices[0] ?? "");
}

export function blankPart(fields: Field[]): Record<string, unknown> {
  return Object.fromEntries(fields.filter((each) => each.isRequired).map((each) => [each.name, blankOf(each)]));
}

/** The schemas of which one must hold, without null, with references followed. */
function optionsOf(given: Schema, root: Schema): Schema[] {
  const schema = followed(given, root);
  if (Object.keys(schema).length === 0) return [];
  const any = Array.isArray(schema.anyOf) ? schema.anyOf.map((each) => followed(asObject(each), root)) : [schema];
  return any.filter((each) => each.type !== "null");
}

function followed(schema: Schema, root: Schema): Schema {
  const reference = schema.$ref;
  if (typeof reference !== "string") return schema;
  return asObject(asObject(root.$defs)[reference.split("/").at(-1) ?? ""]);
}

/** The values of an enumeration; YAML may write a few of them as yes and no. */
function choicesOf(options: Schema[]): string[] {
  const [only, ...others] = options.filter((each) => each.type !== "boolean");
  return others.length === 0 && Array.isArray(only?.enum) ? only.enum.map(String) : [];
}

function isText(schema: Schema): boolean {
  return schema.type === "string";
}

function isPart(schema: Schema): boolean {
  return schema.type === "object" && schema.properties !== undefined;
}

function isPlain(schema: Schema): boolean {
  return ["string", "integer", "number", "boolean"].includes(String(schema.type));
}

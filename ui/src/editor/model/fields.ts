/** The fields of a form, from a JSON Schema. What has no simple field is edited as YAML. */
import { asObject } from "./read";

export type Kind = "text" | "code" | "number" | "choice" | "yesNo" | "texts" | "pairs" | "yaml";

export interface Field {
  name: string;
  kind: Kind;
  isRequired: boolean;
  /** What counts if nothing is given. */
  standard: unknown;
  choices: string[];
  minimum?: number;
  maximum?: number;
}

type Schema = Record<string, unknown>;

const CODE = new Set(["script", "sql", "pre_statements", "post_statements", "body", "text"]);

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
  const choices = choicesOf(options);
  const [first] = options;
  const standard = given.default;
  const base = { name, isRequired, standard, choices };
  if (CODE.has(name) && options.some((each) => each.type === "string")) return { ...base, kind: "code" };
  if (choices.length > 0) return { ...base, kind: "choice" };
  if (options.some((each) => each.type === "string")) return { ...base, kind: "text" };
  if (first === undefined || options.length > 1) return { ...base, kind: "yaml" };
  if (first.type === "boolean") return { ...base, kind: "yesNo" };
  if (first.type === "number" || first.type === "integer")
    return { ...base, kind: "number", minimum: numberIn(first.minimum), maximum: numberIn(first.maximum) };
  const items = optionsOf(asObject(first.items), root);
  if (first.type === "array" && items.length > 0 && items.every(isPlain)) return { ...base, kind: "texts" };
  const values = optionsOf(asObject(first.additionalProperties), root);
  if (first.type === "object" && values.length > 0 && values.every(isPlain)) return { ...base, kind: "pairs" };
  return { ...base, kind: "yaml" };
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

function choicesOf(options: Schema[]): string[] {
  const [only] = options;
  return options.length === 1 && Array.isArray(only?.enum) ? only.enum.map(String) : [];
}

function isPlain(schema: Schema): boolean {
  return schema.type === "string" || schema.type === "integer" || schema.type === "number" || schema.type === "boolean";
}

function numberIn(given: unknown): number | undefined {
  return typeof given === "number" ? given : undefined;
}

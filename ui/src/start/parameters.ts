/** The parameters of a workflow as fields of a form. */
import type { Schemas } from "@/api/client";

type Spec = Pick<Schemas["ShownSpec"], "params" | "declared" | "secrets">;

export interface Parameter {
  name: string;
  type: Schemas["ParameterType"];
  choices: string[];
  /** The default; undefined = there is none. A secret's stays where it is. */
  standard: string | undefined;
  isRequired: boolean;
  description: string;
  min: string | undefined;
  max: string | undefined;
}

export type Input = "secret" | "choice" | "yesNo" | "number" | "date" | "long" | "text";

const NUMBERS = ["INTEGER", "LONG", "FLOAT", "DOUBLE"];
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TRUTH = /^(true|false)$/i;

/** All that a workflow names, those that a start must give first. */
export function parametersOf(spec: Spec): Parameter[] {
  const { params = {}, declared = {}, secrets = [] } = spec;
  const names = [...new Set([...Object.keys(params), ...Object.keys(declared), ...secrets])].sort();
  const found = names.map((name) =>
    secrets.includes(name)
      ? parameterOf(name, { ...declared[name], type: "SECRET" })
      : parameterOf(name, declared[name], params[name]),
  );
  return [...found.filter((each) => each.isRequired), ...found.filter((each) => !each.isRequired)];
}

type Declared = Partial<Omit<Schemas["FieldAsked"], "name" | "value" | "allowed">>;

/** A parameter by what is declared of it, and its default. */
export function parameterOf(name: string, said: Declared = {}, standard?: string): Parameter {
  return {
    name,
    type: said.type ?? "VARCHAR",
    choices: said.enum ?? [],
    standard,
    isRequired: said.required ?? false,
    description: said.description ?? "",
    min: said.min ?? undefined,
    max: said.max ?? undefined,
  };
}

/** How a value is entered. A default that a simpler field cannot show, such as `$[yyyy-MM-dd]`, is a text. */
export function inputOf({ type, choices, standard = "" }: Parameter): Input {
  if (type === "SECRET") return "secret";
  if (choices.length > 0) return standard === "" || choices.includes(standard) ? "choice" : "text";
  if (type === "BOOLEAN") return standard === "" ? "choice" : TRUTH.test(standard) ? "yesNo" : "text";
  if (NUMBERS.includes(type)) return standard === "" || Number.isFinite(Number(standard)) ? "number" : "text";
  if (type === "DATE") return standard === "" || DATE.test(standard) ? "date" : "text";
  return type === "TEXT" || standard.includes("\n") ? "long" : "text";
}

/** The values that a choice offers. */
export function choicesOf({ type, choices }: Parameter): string[] {
  return choices.length === 0 && type === "BOOLEAN" ? ["true", "false"] : choices;
}

/** The values of a run, as its fields begin: those that have a field, and the others. */
export interface Given {
  typed: Record<string, string | undefined>;
  others: Record<string, string>;
}

/** `values` by their fields; those that every run of the project has, and what stands for a secret, are not given. */
export function givenBy(
  values: Record<string, string>,
  parameters: Parameter[],
  shared: Record<string, string>,
): Given {
  const fields = new Map(parameters.map((each) => [each.name, each]));
  const all = Object.entries(values).filter(([name]) => fields.get(name)?.type !== "SECRET");
  return {
    typed: Object.fromEntries(all.filter(([name]) => fields.has(name))),
    others: Object.fromEntries(all.filter(([name, value]) => !fields.has(name) && shared[name] !== value)),
  };
}

/** What a start gives: the values that are not the default. */
export function valuesGiven(parameters: Parameter[], typed: Given["typed"]): Record<string, string> {
  const changed = parameters.filter(({ name, standard = "" }) => (typed[name] ?? standard) !== standard);
  return Object.fromEntries(changed.map(({ name }) => [name, typed[name] ?? ""]));
}

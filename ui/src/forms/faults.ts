/** Which fields a problem is about: the API names them by JSON pointers, or begins its sentence with the field. */
import { ApiProblem } from "@/api/client";

/** What is wrong with one field, or nothing. `/params` also stands for `/params/day`. */
export function faultAt(error: Error | null, field: string): string | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  const pointer = `/${field}`;
  const found = error.fields.find((each) => each.pointer === pointer || each.pointer.startsWith(`${pointer}/`));
  if (found !== undefined) return found.detail;
  return error.fields.length === 0 && error.message.startsWith(`${field} `) ? error.message : undefined;
}

/** The error, if none of these fields shows it. */
export function faultBeside(error: Error | null, ...fields: string[]): Error | null {
  return fields.some((field) => faultAt(error, field) !== undefined) ? null : error;
}

/** Where the API says what is wrong with a parameter. */
export function pointerOf(name: string): string {
  return `params/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** What is wrong with values that were sent, by name. What was typed since is not what was refused. */
export function faultsOf(error: Error | null, sent: Values | undefined, now: Values) {
  return (name: string) => (sent?.[name] === now[name] ? faultAt(error, pointerOf(name)) : undefined);
}

type Values = Readonly<Record<string, unknown>>;

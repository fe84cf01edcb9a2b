import { ApiProblem } from "@/api/client";

/** The sentence of a failure with its code. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof ApiProblem)) return error.message;
  return error.code === "" ? error.message : `${error.message} [${error.code}]`;
}

/** What somebody chose to import: which scheduler its files are of, and their texts. */
import type { Schemas } from "@/api/client";

export type Source = Schemas["ImportFiles"]["source"];
export const SOURCES: readonly Source[] = ["dolphinscheduler", "airflow", "crontab"];

/** How the files are read. */
export interface Options {
  source: Source;
  online: boolean;
  lenient: boolean;
  system: boolean;
}

export const AT_FIRST: Options = { source: "dolphinscheduler", online: false, lenient: false, system: false };

/** All of a request is bounded by the API; in bytes. */
export const BYTES_MAX = 3_500_000;

/** The scheduler that files of these names are of. A JSON file may be of two: then nobody knows. */
export function sourceOf(names: readonly string[]): Source | null {
  if (names.some((name) => name.endsWith(".py"))) return "airflow";
  if (names.some((name) => /\.ya?ml$/.test(name))) return "dolphinscheduler";
  return names.length === 0 || names.some((name) => name.endsWith(".json")) ? null : "crontab";
}

/** The text of a file: in UTF-8, or in UTF-16 as PowerShell writes it. */
export function textOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return new TextDecoder(isWide ? (first === 0xff ? "utf-16le" : "utf-16be") : "utf-8").decode(bytes);
}

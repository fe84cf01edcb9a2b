/** A backfill as the address has it, what the API is asked for, and what this browser remembers of those it started. */
import type { Schemas } from "@/api/client";

export type Asked = Schemas["BackfillAnswer"];
export type Progress = Schemas["BackfillProgress"];

/** A type, so that it fits where any words of an address are taken. */
export type Wanted = {
  code?: string;
  from?: string;
  to?: string;
  /** Single dates instead of a range, separated by spaces or commas. */
  dates?: string;
  order?: "DESC";
  parallelism?: number;
  skip?: true;
  dependents?: true;
};

/** The words of the address that are about a backfill. */
export function wantedOf(given: Record<string, unknown>): Wanted {
  const text = (name: string) => (given[name] === undefined || given[name] === "" ? undefined : String(given[name]));
  const parallelism = Number(given.parallelism);
  return Object.fromEntries(
    Object.entries({
      code: text("code"),
      from: text("from"),
      to: text("to"),
      dates: text("dates"),
      order: given.order === "DESC" ? "DESC" : undefined,
      parallelism: Number.isInteger(parallelism) && parallelism >= 0 ? parallelism : undefined,
      skip: given.skip === true ? true : undefined,
      dependents: given.dependents === true ? true : undefined,
    }).filter(([, value]) => value !== undefined),
  );
}

/** What the API is asked for, or null if no dates are said yet. `parallelism` 1 is one chain, 0 a chain for each date. */
export function bodyOf(
  wanted: Wanted,
  params: Record<string, string>,
  isDry: boolean,
): Schemas["StartBackfill"] | null {
  const dates = datesOf(wanted.dates);
  if (wanted.code === undefined || (wanted.dates !== undefined ? dates.length === 0 : !wanted.from || !wanted.to))
    return null;
  return {
    ...(wanted.dates !== undefined ? { dates } : { dates: [], from: wanted.from, to: wanted.to }),
    order: wanted.order ?? "ASC",
    ...(wanted.parallelism !== 1 && { parallelism: wanted.parallelism ?? 1 }),
    skip_done: wanted.skip === true,
    dependents: wanted.dependents === true,
    dry_run: isDry,
    params,
  };
}

export function datesOf(typed: string | undefined): string[] {
  return (typed ?? "").split(/[\s,;]+/).filter((each) => each !== "");
}

export interface Row {
  key: string;
  chain: number;
  step: number;
  at: string;
  workflow: string;
}

/** Every run of a backfill, in the order of chains. */
export function rowsOf(asked: Pick<Asked, "chains" | "workflows">): Row[] {
  return asked.workflows.flatMap(({ name }) =>
    asked.chains.flatMap((chain, place) =>
      chain.map((at, step) => ({
        key: `${name} ${place} ${step}`,
        chain: place + 1,
        step: step + 1,
        at,
        workflow: name,
      })),
    ),
  );
}

const KEY = "shoal-backfills";
const KEPT = 20;

/** Remember the exact chains of a backfill, so that its page in this browser counts what was asked for. */
export function remember(asked: Asked): void {
  const others = remembered().filter((each) => each.command_id !== asked.command_id);
  localStorage.setItem(KEY, JSON.stringify([asked, ...others].slice(0, KEPT)));
}

/** The backfills that this browser started, the last first. */
export function remembered(): Asked[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "[]") as Asked[];
  } catch {
    return [];
  }
}

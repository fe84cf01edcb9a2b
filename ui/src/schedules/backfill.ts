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

/** A date of a chain: its run, or the look of what has none. */
export interface Cell {
  at: string;
  run?: string;
  state: string;
  elapsed: number;
}

export interface Chain {
  key: string;
  workflow: string;
  cells: Cell[];
}

/** The chains of each workflow, with what became of each date. Dates that wait for no other are one row. */
export function chainsOf(asked: Pick<Asked, "chains" | "workflows">, progress: Progress): Chain[] {
  const runs = new Map(progress.runs?.map((run) => [`${run.workflow} ${run.date}`, run]));
  const refused = new Set(progress.stopped.flatMap((each) => (each.run_id ? [] : `${each.workflow} ${each.date}`)));
  const rows = asked.chains.every((chain) => chain.length === 1) ? [asked.chains.flat()] : asked.chains;
  return asked.workflows.flatMap(({ code, name }) =>
    rows.map((row, place) => ({
      key: `${code} ${place}`,
      workflow: name,
      cells: row.map((at) => {
        const run = runs.get(`${code} ${at}`);
        if (run !== undefined) return { at, run: run.run_id, state: run.state, elapsed: run.elapsed_s };
        return { at, state: refused.has(`${name} ${at}`) ? "REFUSED" : "NOT_BEGUN", elapsed: 0 };
      }),
    })),
  );
}

const GOES_ON = ["SUCCESS", "NOT_BEGUN"];

/** About how many seconds are left, by the mean of the dates that are done; null = no date is done, or none is left. */
export function leftS(chains: readonly Chain[], running: ReadonlySet<string>): number | null {
  const done = chains.flatMap(({ cells }) => cells.filter((cell) => cell.state === "SUCCESS"));
  if (done.length === 0) return null;
  const mean = done.reduce((sum, cell) => sum + cell.elapsed, 0) / done.length;
  const isRunning = (cell: Cell) => cell.run !== undefined && running.has(cell.run);
  const left = chains.map(({ cells }) =>
    cells.every((cell) => GOES_ON.includes(cell.state) || isRunning(cell))
      ? cells.reduce((sum, cell) => sum + (cell.state === "SUCCESS" ? 0 : Math.max(0, mean - cell.elapsed)), 0)
      : 0,
  );
  return Math.max(...left) || null;
}

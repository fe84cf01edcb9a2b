/** The tasks of a run as the page shows them: each with its state, its attempts, and what it comes after. */
import type { Attempt, RunPage } from "./queries";

export interface TaskView {
  name: string;
  /** The state of the attempt that counts, or why there is none. */
  state: string;
  /** Of the present execution of the run, the oldest first. */
  attempts: Attempt[];
  last: Attempt | null;
  after: string[];
  /** Tasks that must end before it begins. */
  missing: string[];
  /** Whether it is skipped for a start rule, not for a branch. */
  isUnneeded: boolean;
}

export const ENDED = ["SUCCESS", "FAILURE", "PAUSE", "STOP"];
export const FAILED: Attempt["state"][] = ["FAILURE", "KILL", "NEED_FAULT_TOLERANCE"];
const PASSED = ["SUCCESS", "FORCED_SUCCESS"];

/** Whether a task is a stream that runs, waits or pauses. */
export function isLivingStream(task: TaskView): boolean {
  return task.last?.is_stream === true && task.last.ended_at == null;
}

/** Whether a task waits for the answer of a person. */
export function asksSomebody({ state, last }: TaskView): boolean {
  return state === "RUNNING_EXECUTION" && last?.type === "APPROVAL";
}

/** The tasks in the order of the definition. */
export function tasksOf(run: RunPage): TaskView[] {
  const attempts = Map.groupBy(run.tasks, (attempt) => attempt.name);
  const notBegun = new Map(run.not_begun.map((task) => [task.name, task]));
  const order =
    run.graph ?? [...new Set([...attempts.keys(), ...notBegun.keys()])].map((name) => ({ name, after: [] }));
  return order.map(({ name, after }) => {
    const own = (attempts.get(name) ?? []).filter((attempt) => attempt.counts !== false);
    const waits = notBegun.get(name);
    const last = own.at(-1) ?? null;
    const state = waits?.state ?? last?.state ?? "NOT_BEGUN";
    return {
      name,
      state,
      attempts: own,
      last: waits === undefined ? last : null,
      after,
      missing: waits?.missing ?? [],
      isUnneeded: typeof waits?.unmet === "string",
    };
  });
}

/** How many tasks are in each state, what is done first. */
export function statesOf(tasks: TaskView[]): Record<string, number> {
  const order = [
    "SUCCESS",
    "FORCED_SUCCESS",
    "FAILURE",
    "KILL",
    "NEED_FAULT_TOLERANCE",
    "RUNNING_EXECUTION",
    "DISPATCH",
  ];
  const counts = new Map<string, number>();
  for (const { state } of tasks) counts.set(state, (counts.get(state) ?? 0) + 1);
  const place = (state: string) => order.indexOf(state) + 1 || (state.length > 8 ? 20 : 30);
  return Object.fromEntries([...counts].sort(([one], [other]) => place(one) - place(other)));
}

/** How many tasks need no more work. */
export function doneOf(tasks: TaskView[]): number {
  return tasks.filter((task) => [...PASSED, "SKIPPED", "FORBIDDEN", "LEFT_OUT"].includes(task.state)).length;
}

export function isFailed(state: string): boolean {
  return FAILED.some((each) => each === state);
}

export function isPassed(state: string): boolean {
  return PASSED.includes(state);
}

/** Whether a task in this state shows a time that passes. */
export function passes(state: string): boolean {
  return ["DELAY_EXECUTION", "QUEUED", "DISPATCH", "RUNNING_EXECUTION"].includes(state);
}

/** The task that a reader most likely came for: what failed or asks, then what waits to be tried again, waits, or runs. */
export function focusOf(tasks: TaskView[]): TaskView | null {
  const of = (states: string[]) => tasks.findLast((task) => states.includes(task.state));
  const later = [["DELAY_EXECUTION"], ["QUEUED"], ["RUNNING_EXECUTION", "DISPATCH"], PASSED];
  return of(FAILED) ?? tasks.find(asksSomebody) ?? later.map(of).find((found) => found !== undefined) ?? null;
}

/** Seconds until an attempt that waits for a time is queued; null = it waits for none. */
export function dueIn(attempt: Attempt, readAt: number, now: number): number | null {
  if (attempt.state !== "DELAY_EXECUTION" || attempt.due_in_s === undefined || attempt.due_in_s === null) return null;
  return Math.max(0, attempt.due_in_s - (now - readAt) / 1000);
}

/** Tasks that are shown: in that state, and with that in their name. */
export function shownTasks(tasks: TaskView[], only: string | undefined, find: string | undefined): TaskView[] {
  const sought = find?.toLowerCase();
  return tasks.filter(
    (task) =>
      (only === undefined || task.state === only) && (sought === undefined || task.name.toLowerCase().includes(sought)),
  );
}

/** Whether elements of its tasks are under way, of which no event tells. */
export function hasLiveElements(run: RunPage | undefined): boolean {
  return run?.tasks.some((task) => task.elements != null && task.ended_at == null) === true;
}

/** Values of parameters that the API gives as JSON. */
export function valuesOf(json: string | null | undefined): Record<string, string> {
  if (!json) return {};
  try {
    const found: unknown = JSON.parse(json);
    if (typeof found !== "object" || found === null) return {};
    return Object.fromEntries(
      Object.entries(found).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
    );
  } catch {
    return {};
  }
}

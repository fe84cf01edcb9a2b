/** The one place that maps an event to what was read: it patches what is shown, and has the rest read again. */
import type { QueryClient } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import type { LiveEvent } from "./sharedByTabs";

type Run = Schemas["RunAnswer"];
type RunPage = Schemas["RunPageAnswer"];
type Task = Schemas["TaskAnswer"];
type Patch<T> = Partial<T> & { id: string };
type TaskPatch = Pick<
  Task,
  "id" | "name" | "type" | "attempt" | "state" | "started_at" | "ended_at" | "reason" | "valid"
> & {
  code: string;
  queued_at: string | null;
};

/** What is read again after an event of a topic; the words are the first part of the keys of queries. */
const READ_AGAIN: Record<string, string[]> = {
  runs: [
    "runs",
    "backfill",
    "run-counts",
    "histogram",
    "last-runs",
    "grid",
    "attempts",
    "run-progress",
    "needs",
    "late",
  ],
  queue: ["queue", "commands", "error-commands"],
  cluster: ["cluster", "slots", "slot-changes", "doctor"],
  pools: ["pools"],
  alerts: ["alerts"],
  // A run says what the newest version of its workflow changes.
  definitions: ["workflows", "workflow", "relations", "schedules", "fires", "run", "why"],
};
const SOON_MS = 250;
const AGAIN_MS = 1_000;
/** What the server counts over many runs is read again less often, however much happens. */
const SLOW = ["run-counts", "histogram", "needs", "late", "last-runs"];
const SLOW_AGAIN_MS = 5_000;
/** A run of so many tasks is read again less often: an event has what changes on screen. */
const LARGE_RUN = 300;
const LARGE_RUN_AGAIN_MS = 3_000;

export class Changes {
  private readonly due = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly readAt = new Map<string, number>();

  constructor(private readonly queries: QueryClient) {}

  /** Apply one event. */
  apply(event: LiveEvent): void {
    const { topic } = event.data;
    if (event.kind === "resync") this.resync(topic);
    else if (event.kind === "run") this.patchRun(topic.replace("run:", ""), event.data);
    else {
      if (event.kind === "runs") this.patchRuns(event.data.runs as Patch<Run>[]);
      for (const word of READ_AGAIN[topic] ?? []) this.readAgain([word]);
    }
  }

  /** Read again all that is on screen, such as after a time without events. */
  resync(topic = ""): void {
    if (topic === "") void this.queries.invalidateQueries();
    else if (topic.startsWith("run:")) this.readAgain(["run", topic.slice(4)]);
    else for (const word of READ_AGAIN[topic] ?? []) this.readAgain([word]);
  }

  /** Nobody watches a topic now: what was read of it is old when somebody shows it again. */
  forget(topic: string): void {
    const keys = topic.startsWith("run:") ? [["run", topic.slice(4)]] : (READ_AGAIN[topic] ?? []).map((word) => [word]);
    for (const queryKey of keys) void this.queries.invalidateQueries({ queryKey, refetchType: "none" });
  }

  /** Soon, then at most once in `everyMs`, however many events come. */
  private readAgain(key: string[], everyMs = SLOW.includes(key[0] ?? "") ? SLOW_AGAIN_MS : AGAIN_MS): void {
    const name = key.join("/");
    if (this.due.has(name)) return;
    const rest = (this.readAt.get(name) ?? 0) + everyMs - Date.now();
    this.due.set(
      name,
      setTimeout(
        () => {
          this.due.delete(name);
          this.readAt.set(name, Date.now());
          void this.queries.invalidateQueries({ queryKey: key });
        },
        Math.max(SOON_MS, rest),
      ),
    );
  }

  private patchRuns(patches: Patch<Run>[]): void {
    const byId = new Map(patches.map((patch) => [patch.id, patch]));
    this.queries.setQueriesData<{ items: Run[] }>({ queryKey: ["runs"] }, (shown) =>
      shown === undefined ? shown : { ...shown, items: shown.items.map((run) => patched(run, byId)) },
    );
  }

  private patchRun(id: string, data: LiveEvent["data"]): void {
    const tasks = (data.tasks ?? []) as TaskPatch[];
    let isKnown = true;
    let size = 0;
    this.queries.setQueryData<RunPage>(["run", id], (shown) => {
      if (shown === undefined) return shown;
      const byId = new Map(
        tasks.map(({ queued_at, ...task }) => [task.id, { ...task, ...(queued_at !== null && { queued_at }) }]),
      );
      const known = new Set(shown.tasks.map((task) => task.id));
      const added = tasks.filter((task) => task.valid && !known.has(task.id));
      const begun = new Set(added.map((task) => task.name));
      isKnown = added.length === 0;
      size = shown.tasks.length + shown.not_begun.length;
      return {
        ...shown,
        ...same(data.run as Patch<RunPage>),
        tasks: [...shown.tasks.map((task) => patched(task, byId)), ...added.map(begunTask)],
        not_begun: shown.not_begun.filter((task) => !begun.has(task.name)),
      };
    });
    const isOver = !["RUNNING_EXECUTION", "READY_PAUSE", "READY_STOP"].includes((data.run as Patch<Run>).state ?? "");
    const slowly = size > LARGE_RUN ? LARGE_RUN_AGAIN_MS : undefined;
    if (!isKnown || isOver) this.readAgain(["run", id], slowly);
    this.readAgain(["run-events", id], slowly);
    this.readAgain(["why", id], slowly);
  }
}

/** A task that has just begun, until it is read: what an event says of it. */
function begunTask(patch: TaskPatch): Task {
  const { id, code, name, type, attempt, state, queued_at, started_at, ended_at, reason, valid } = patch;
  return {
    ...{ id, code, name, type, attempt, state, started_at, ended_at, reason, valid },
    ...{ queued_at: queued_at ?? new Date().toISOString(), retries: attempt - 1 },
    ...{ kill_requested: false, worker_group: "", priority: "MEDIUM", log_day: "", counts: true, is_stream: false },
  };
}

/** What a patch and an answer both have under one name; an event's `worker` is an id, an answer's a name. */
const SAME = [
  "state",
  "requested_state",
  "ending_as",
  "reason",
  "started_at",
  "ended_at",
  "queued_at",
  "attempt",
  "valid",
];

function patched<T extends { id: string }>(shown: T, patches: Map<string, Patch<T>>): T {
  const patch = patches.get(shown.id);
  return patch === undefined ? shown : { ...shown, ...same(patch) };
}

function same<T>(patch: Patch<T>): Partial<T> {
  return Object.fromEntries(Object.entries(patch).filter(([name]) => SAME.includes(name))) as Partial<T>;
}

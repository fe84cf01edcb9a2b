/** Why what waits is not taken yet: the word under which `queue` has the sentence. */
import type { Queue } from "./queries";

type Group = Queue["worker_groups"][number];
type Masters = Pick<Queue, "total" | "masters" | "drained_masters">;

/** Why the tasks of a worker group wait. */
export function whyTasksWait({ waiting, workers, free_places, drained_workers, busy_workers }: Group) {
  if (waiting === 0) return "groupGoesOn";
  if (workers === 0) return "groupNoWorker";
  if (free_places > 0) return "groupSoon";
  if (drained_workers >= workers) return "groupDrained";
  if (busy_workers >= workers) return "groupBusy";
  return drained_workers + busy_workers > 0 ? "groupOthersFull" : "groupFull";
}

/** Why no master takes commands; null = one has a slot. */
export function whyNothingIsTaken({ total, masters, drained_masters }: Masters) {
  if (total > 0) return null;
  if (masters === 0) return "noMaster";
  return drained_masters >= masters ? "mastersDrained" : "noSlot";
}

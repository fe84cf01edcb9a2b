/** Choosing tasks by the keyboard. */
import type { TaskView } from "../model";

/** The task that a key leads to from the chosen one: `j` and down the next, `k` and up the one before. */
export function chosenByKey(key: string, tasks: TaskView[], chosen: string | null): string | null {
  const step = key === "j" || key === "ArrowDown" ? 1 : key === "k" || key === "ArrowUp" ? -1 : 0;
  if (step === 0) return null;
  const place = tasks.findIndex((task) => task.name === chosen);
  return tasks[Math.min(tasks.length - 1, Math.max(0, place + step))]?.name ?? null;
}

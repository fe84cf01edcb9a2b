import type { TaskView } from "../model";

/** The tasks that decided how long the run takes: from what ended last, back by what was waited for last. */
export function criticalPath(tasks: TaskView[]): Set<string> {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const end = (task: TaskView) => {
    if (task.last?.started_at == null) return 0;
    return task.last.ended_at == null ? Number.POSITIVE_INFINITY : Date.parse(task.last.ended_at);
  };
  const latest = (of: TaskView[]) =>
    of.reduce<TaskView | undefined>((best, task) => (end(task) > (best ? end(best) : 0) ? task : best), undefined);
  const path = new Set<string>();
  let task = latest(tasks);
  while (task !== undefined && !path.has(task.name)) {
    path.add(task.name);
    task = latest(task.after.map((name) => byName.get(name)).filter((each) => each !== undefined));
  }
  return path;
}

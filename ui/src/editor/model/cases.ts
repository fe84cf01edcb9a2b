/** Edits of the tasks that choose what comes next, SWITCH and CONDITIONS: choices and arrows come and go together. */
import { connect, disconnect, type Path, setField } from "./edits";
import { casesOf, read, type Task, textsOf } from "./read";

interface Branch {
  path: (string | number)[];
  next: string[];
}

/** Set a field of a task; the arrows to the tasks that it chooses come and go with them. */
export function setChoice(text: string, task: Task, path: Path, value: unknown): string {
  let changed = setField(text, task.name, path, value);
  const branches = branchesOf(task);
  if (branches.length === 0) return changed;
  const before = branches.flatMap(({ next }) => next);
  const after = branchesOf(taskIn(changed, task.name)).flatMap(({ next }) => next);
  for (const to of after) if (!before.includes(to)) changed = connect(changed, task.name, to);
  for (const to of before) if (!after.includes(to)) changed = disconnect(changed, task.name, to);
  return changed;
}

/** Draw an arrow; from a task that chooses it is that of a new case or a free branch, unless one leads there already. */
export function draw(text: string, from: string, to: string): string {
  const drawn = connect(text, from, to);
  const chooser = taskIn(text, from);
  const branches = branchesOf(chooser);
  if (branches.some(({ next }) => next.includes(to))) return drawn;
  if (chooser?.type !== "SWITCH") {
    const free = branches.find(({ next }) => next.length === 0);
    return free === undefined ? drawn : setField(drawn, from, free.path, to);
  }
  // biome-ignore lint/suspicious/noThenProperty: so it is called in the text
  const made = { when: "", then: to };
  const count = casesOf(chooser).length;
  return setField(drawn, from, count === 0 ? CASES : [...CASES, count], count === 0 ? [made] : made);
}

/** Remove an arrow, and what leads along it: a case without a task is removed. */
export function cut(text: string, from: string, to: string): string {
  let changed = disconnect(text, from, to);
  // The last case first, so that the places of the others stay.
  for (const { path, next } of branchesOf(taskIn(text, from)).reverse()) {
    const rest = next.filter((each) => each !== to);
    if (rest.length === next.length) continue;
    const isCase = path.length > CASES.length;
    changed = setField(changed, from, isCase && rest.length === 0 ? path.slice(0, -1) : path, shortest(rest));
  }
  return changed;
}

const CASES = ["params", "cases"];

function branchesOf(task: Task | undefined): Branch[] {
  const named = (name: string) => ({ path: ["params", name], next: textsOf(task?.params[name]) });
  if (task?.type === "CONDITIONS") return [named("on_success"), named("on_failure")];
  if (task?.type !== "SWITCH") return [];
  return [...casesOf(task).map(({ next }, place) => ({ path: [...CASES, place, "then"], next })), named("default")];
}

/** Names as they are written: one needs no list. */
function shortest(names: string[]): string | string[] | undefined {
  return names.length > 1 ? names : names[0];
}

function taskIn(text: string, name: string): Task | undefined {
  return read(text).graph?.tasks.find((task) => task.name === name);
}

/** Edits of a SWITCH task: its cases in their order, each a condition and the tasks that come next if it is true. */
import { connect, disconnect, setField } from "./edits";
import { casesOf, read, type Task, textsOf } from "./read";

/** Add a case that leads to these tasks. */
export function addCase(text: string, task: Task, next: string | string[] = []): string {
  const found = casesOf(task);
  // biome-ignore lint/suspicious/noThenProperty: so it is called in the text
  const made = { when: "", then: next };
  const path = ["params", "cases"];
  return found.length === 0
    ? setField(text, task.name, path, [made])
    : setField(text, task.name, [...path, found.length], made);
}

/** Remove a case, and the arrows that no other one needs. */
export function removeCase(text: string, task: Task, place: number): string {
  return setField(setNext(text, task, place, []), task.name, ["params", "cases", place], undefined);
}

/** Let a case, or what is chosen otherwise, lead to these tasks; arrows come and go with them. */
export function setNext(text: string, task: Task, place: number | "default", chosen: string[]): string {
  const branches = branchesOf(task);
  const named = branches.flatMap((each) => (each.place === place ? chosen : each.next));
  const before = branches.find((each) => each.place === place)?.next ?? [];
  let changed = text;
  for (const to of chosen) changed = connect(changed, task.name, to);
  for (const to of before) if (!named.includes(to)) changed = disconnect(changed, task.name, to);
  return written(changed, task, place, chosen);
}

/** Draw an arrow; one from a SWITCH task is that of a new case, unless a case leads there already. */
export function draw(text: string, from: string, to: string): string {
  const chooser = switchIn(text, from);
  const drawn = connect(text, from, to);
  const isNamed = chooser === undefined || branchesOf(chooser).some(({ next }) => next.includes(to));
  return isNamed ? drawn : addCase(drawn, chooser, to);
}

/** Remove an arrow, and what leads along it: a case without a task is removed. */
export function cut(text: string, from: string, to: string): string {
  const chooser = switchIn(text, from);
  let changed = disconnect(text, from, to);
  if (chooser === undefined) return changed;
  // The last case first, so that the places of the others stay.
  for (const { place, next } of branchesOf(chooser).reverse()) {
    const rest = next.filter((each) => each !== to);
    if (rest.length === next.length) continue;
    changed =
      rest.length === 0 && place !== "default"
        ? setField(changed, from, ["params", "cases", place], undefined)
        : written(changed, chooser, place, rest);
  }
  return changed;
}

function branchesOf(task: Task): { place: number | "default"; next: string[] }[] {
  const cases = casesOf(task).map(({ next }, place) => ({ place, next }));
  return [...cases, { place: "default", next: textsOf(task.params.default) }];
}

function written(text: string, task: Task, place: number | "default", next: string[]): string {
  const value = next.length === 1 ? next[0] : next;
  if (place !== "default") return setField(text, task.name, ["params", "cases", place, "then"], value);
  return setField(text, task.name, ["params", "default"], next.length === 0 ? undefined : value);
}

function switchIn(text: string, name: string): Task | undefined {
  return read(text).graph?.tasks.find((task) => task.name === name && task.type === "SWITCH");
}

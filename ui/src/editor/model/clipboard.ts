/** Tasks on the clipboard are YAML text: they can be pasted into another workflow, or into a file. */
import { Document, isMap, isScalar, isSeq, parseDocument, YAMLMap, YAMLSeq } from "yaml";
import { nameOf, namesIn, open, setPlaces, tasksOf, written } from "./edits";
import { asObject, type Place, read } from "./read";
import { Refusal, uniqueName } from "./rules";

const AWAY = 32;

/** The text of these tasks, with their comments and where they stand. */
export function copied(text: string, names: string[], places: Record<string, Place>): string {
  const source = open(text);
  const target = new Document(new YAMLMap());
  const list = new YAMLSeq();
  for (const item of tasksOf(source).items)
    if (isMap(item) && names.includes(nameOf(item))) list.items.push(item.clone());
  target.set("tasks", list);
  setPlaces(target, Object.fromEntries(Object.entries(places).filter(([name]) => names.includes(name))));
  return written(target);
}

/** Put the tasks of a text from the clipboard into a workflow, under names that are free. */
export function pasted(text: string, clip: string): { text: string; names: string[] } {
  const source = parseDocument(clip);
  const found = source.errors.length === 0 && isMap(source.contents) ? source.get("tasks") : null;
  if (!isSeq(found) || read(clip).graph === null) throw new Refusal("refuse.notTasks");
  const document = open(text);
  const taken = new Set(namesIn(document));
  const renamed = new Map<string, string>();
  for (const item of found.items) {
    const before = nameOf(item);
    if (before === "") throw new Refusal("refuse.notTasks");
    const now = uniqueName(before, taken);
    taken.add(now);
    renamed.set(before, now);
  }
  const existing = new Set(namesIn(document));
  const places: Record<string, Place> = {};
  const givenPlaces = asObject(asObject(asObject(source.toJS()).layout).tasks);
  for (const item of found.items) {
    if (!isMap(item)) continue;
    const copy = item.clone() as YAMLMap;
    const before = nameOf(item);
    const now = renamed.get(before) ?? before;
    copy.set("name", now);
    rewire(copy, renamed, existing);
    copy.delete("code");
    tasksOf(document).items.push(copy);
    const at = asObject(givenPlaces[before]);
    if (typeof at.x === "number" && typeof at.y === "number") places[now] = { x: at.x + AWAY, y: at.y + AWAY };
  }
  setPlaces(document, places);
  return { text: written(document), names: [...renamed.values()] };
}

/** Arrows between the pasted tasks stay among them; others stay where such a task exists. */
function rewire(task: YAMLMap, renamed: Map<string, string>, existing: Set<string>): void {
  const after = task.get("after");
  if (!isSeq(after)) return;
  after.items = after.items.filter((item) => {
    if (!isScalar(item)) return false;
    const name = String(item.value);
    const now = renamed.get(name);
    if (now !== undefined) item.value = now;
    return now !== undefined || existing.has(name);
  });
  if (after.items.length > 0) return;
  task.delete("after");
  task.delete("start_when");
}

/** Edits of a workflow's YAML: each takes the text and gives the new one, with comments, order and style kept. */
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  Scalar,
  type ScalarTag,
  type YAMLMap,
  YAMLSeq,
} from "yaml";
import { type Place, read } from "./read";
import { checkArrow, checkName, Refusal, uniqueName } from "./rules";

/** How a document is written: as the server's export writes it, so that an edit changes no other line. */
const STYLE = { lineWidth: 0, flowCollectionPadding: false } as const;

/** A whole number beyond the exact ones of JavaScript, such as a task code of 64 bits, is written as it was read. */
const LARGE_NUMBER: ScalarTag = {
  default: true,
  tag: "tag:yaml.org,2002:int",
  test: /^[-+]?[0-9]{16,}$/,
  identify: (value) => Number.isInteger(value) && !Number.isSafeInteger(value),
  resolve: Number,
  stringify: ({ source, value }) => (source !== undefined && Number(source) === value ? source : String(value)),
};

export type Path = readonly (string | number)[];

/** A document to edit. Raises `Refusal` if the text cannot be read. */
export function open(text: string): Document {
  const document = parseDocument(text, { customTags: (tags) => [LARGE_NUMBER, ...tags] });
  if (document.errors.length > 0 || read(text).fault !== null) throw new Refusal("refuse.unreadable");
  return document;
}

/** The text of a document. */
export function written(document: Document): string {
  return document.toString(STYLE);
}

export interface NewTask {
  type: string;
  name?: string;
  params?: Record<string, unknown>;
  after?: string[];
  place?: Place;
}

/** Add a task at the end; its name is made from its type if none is given. */
export function addTask(text: string, task: NewTask): { text: string; name: string } {
  const document = open(text);
  const taken = namesIn(document);
  if (task.name !== undefined) checkName(task.name, taken);
  const name = task.name ?? uniqueName(task.type.toLowerCase(), taken);
  const node = document.createNode({ name, type: task.type }) as YAMLMap;
  if (Object.keys(task.params ?? {}).length > 0) node.set("params", document.createNode(task.params));
  if (task.after !== undefined && task.after.length > 0) node.set("after", flow(document, task.after));
  tasksOf(document).items.push(node);
  if (task.place !== undefined) setPlaces(document, { [name]: task.place });
  return { text: written(document), name };
}

/** Remove tasks, the arrows to and from them, and their places. */
export function removeTasks(text: string, names: string[]): string {
  const document = open(text);
  const list = tasksOf(document);
  list.items = list.items.filter((item) => !names.includes(nameOf(item)));
  for (const item of list.items) for (const name of names) removeAfter(item, name);
  for (const name of names) remove(document, ["layout", "tasks", name]);
  dropEmpty(document, ["layout", "tasks"]);
  return written(document);
}

/** Give a task another name, wherever the workflow names it. */
export function renameTask(text: string, from: string, to: string): string {
  if (from === to) return text;
  const document = open(text);
  checkName(
    to,
    namesIn(document).filter((name) => name !== from),
  );
  const change = (node: unknown): void => {
    if (isScalar(node) && node.value === from) node.value = to;
    else if (isSeq(node)) for (const item of node.items) change(item);
  };
  for (const item of tasksOf(document).items) {
    if (!isMap(item)) continue;
    if (nameOf(item) === from) change(item.get("name", true));
    change(item.get("after", true));
    const params = item.get("params");
    if (!isMap(params)) continue;
    for (const field of ["default", "on_success", "on_failure"]) change(params.get(field, true));
    const cases = params.get("cases");
    if (isSeq(cases)) for (const each of cases.items) if (isMap(each)) change(each.get("then", true));
    const when = params.get("when");
    if (item.get("type") !== "CONDITIONS") continue;
    if (isMap(when)) for (const pair of when.items) change(pair.key);
    if (isSeq(when))
      for (const group of when.items) {
        const items = isMap(group) ? group.get("items") : null;
        if (isSeq(items)) for (const each of items.items) if (isMap(each)) change(each.get("task", true));
      }
  }
  const places = document.getIn(["layout", "tasks"]);
  if (isMap(places)) for (const pair of places.items) change(pair.key);
  return written(document);
}

/** Draw an arrow: the second task comes after the first. */
export function connect(text: string, from: string, to: string): string {
  const { graph } = read(text);
  if (graph === null) throw new Refusal("refuse.unreadable");
  if (graph.edges.some((edge) => edge.from === from && edge.to === to)) return text;
  checkArrow(from, to, graph.edges);
  const document = open(text);
  const task = taskIn(document, to);
  const after = task.get("after");
  if (isSeq(after)) after.items.push(document.createNode(from));
  else task.set("after", flow(document, typeof after === "string" ? [after, from] : [from]));
  return written(document);
}

/** Remove an arrow. */
export function disconnect(text: string, from: string, to: string): string {
  const document = open(text);
  removeAfter(taskIn(document, to), from);
  return written(document);
}

/** Set a field of a task, such as `["params", "script"]`, or of the workflow; undefined removes it, and what is empty
 * then. */
export function setField(text: string, task: string | null, path: Path, value: unknown): string {
  const document = open(text);
  setIn(document, wholePath(document, task, path), value);
  return written(document);
}

/** Give a key of a mapping another name, where it stands. */
export function renameKey(text: string, task: string | null, path: Path, to: string): string {
  const document = open(text);
  const map = document.getIn(wholePath(document, task, path.slice(0, -1)));
  for (const { key } of isMap(map) ? map.items : [])
    if (isScalar(key) && String(key.value) === path.at(-1)) key.value = to;
  return written(document);
}

function wholePath(document: Document, task: string | null, path: Path): Path {
  return task === null ? path : ["tasks", tasksOf(document).items.indexOf(taskIn(document, task)), ...path];
}

/** Set which tasks a task comes after. */
export function setAfter(text: string, task: string, after: string[]): string {
  const { graph } = read(text);
  if (graph === null) throw new Refusal("refuse.unreadable");
  const others = graph.edges.filter((edge) => edge.to !== task);
  for (const from of after) checkArrow(from, task, others);
  const document = open(text);
  const node = taskIn(document, task);
  if (after.length === 0) begin(node);
  else node.set("after", flow(document, after));
  return written(document);
}

/** Put tasks at these places on the canvas. */
export function moveTasks(text: string, places: Record<string, Place>): string {
  const document = open(text);
  setPlaces(document, places);
  return written(document);
}

/** Set a value, in the scalar that is there already where that is possible: its comment and style stay. */
export function setIn(document: Document, path: Path, value: unknown): void {
  if (value === undefined) {
    remove(document, path);
    dropEmpty(document, path.slice(0, -1));
    return;
  }
  const found = document.getIn(path, true);
  if (isScalar(found) && (value === null || typeof value !== "object")) {
    const isNew = typeof value !== "string" || found.value === "";
    found.value = value;
    if (typeof value === "string" && value.includes("\n")) found.type = Scalar.BLOCK_LITERAL;
    else if (isNew || found.type === Scalar.BLOCK_LITERAL || found.type === Scalar.BLOCK_FOLDED) found.type = undefined;
    return;
  }
  const isPlain = Array.isArray(value) && value.every((each) => typeof each !== "object");
  if (isSeq(found) && isPlain && value.length > 0) {
    // What stays is written as before, with its comment.
    found.items = value.map(
      (each) => found.items.find((item) => isScalar(item) && item.value === each) ?? document.createNode(each),
    );
    return;
  }
  const node = document.createNode(value);
  if (isPlain) (node as YAMLSeq).flow = true;
  openUp(document, path);
  document.setIn(path, node);
}

/** A list or mapping in brackets is written in lines once it gets something that does not fit there. */
function openUp(document: Document, path: Path): void {
  for (let depth = 1; depth < path.length; depth += 1) {
    const node = document.getIn(path.slice(0, depth), true);
    if (node === undefined || node === null || (isScalar(node) && node.value === null))
      document.setIn(path.slice(0, depth), document.createNode({}));
    else if ((isMap(node) || isSeq(node)) && node.items.length === 0) node.flow = false;
  }
}

/** `deleteIn`, which raises where nothing is. */
function remove(document: Document, path: Path): void {
  if (document.hasIn(path)) document.deleteIn(path);
}

function dropEmpty(document: Document, path: Path): void {
  // A task or a row stays, even without fields.
  if (path.length === 0 || typeof path.at(-1) === "number") return;
  const node = document.getIn(path);
  if ((isMap(node) || isSeq(node)) && node.items.length === 0) {
    document.deleteIn(path);
    dropEmpty(document, path.slice(0, -1));
  }
}

/** The list of tasks; made if there is none. */
export function tasksOf(document: Document): YAMLSeq {
  const found = document.get("tasks");
  if (isSeq(found)) {
    if (found.items.length === 0) found.flow = false;
    return found;
  }
  const made = new YAMLSeq();
  document.set("tasks", made);
  return made;
}

/** The names of all tasks. */
export function namesIn(document: Document): string[] {
  return tasksOf(document).items.map(nameOf);
}

export function nameOf(item: unknown): string {
  return isMap(item) ? String(item.get("name") ?? "") : "";
}

function taskIn(document: Document, name: string): YAMLMap {
  const found = tasksOf(document).items.find((item) => nameOf(item) === name);
  if (!isMap(found)) throw new Refusal("refuse.noTask", { task: name });
  return found;
}

function removeAfter(task: unknown, name: string): void {
  if (!isMap(task)) return;
  const after = task.get("after");
  if (after === name) begin(task);
  if (!isSeq(after)) return;
  after.items = after.items.filter((item) => (isScalar(item) ? item.value : item) !== name);
  if (after.items.length === 0) begin(task);
}

/** Let a task come after none: a rule about those before it is refused then. */
function begin(task: YAMLMap): void {
  task.delete("after");
  task.delete("start_when");
}

function flow(document: Document, names: string[]): YAMLSeq {
  const list = document.createNode(names) as YAMLSeq;
  list.flow = true;
  return list;
}

/** Write places, each on one line. */
export function setPlaces(document: Document, places: Record<string, Place>): void {
  for (const [name, { x, y }] of Object.entries(places)) {
    const node = document.createNode({ x: rounded(x), y: rounded(y) }) as YAMLMap;
    node.flow = true;
    openUp(document, ["layout", "tasks", name]);
    document.setIn(["layout", "tasks", name], node);
  }
}

export function rounded(number: number): number {
  return Math.round(number);
}

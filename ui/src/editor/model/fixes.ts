/** What can be done about a problem at a press: made from the sentences of the server's check, which are in English. */
import { type Document, isMap, isScalar, isSeq, type YAMLMap } from "yaml";
import { nameOf, open, tasksOf, written } from "./edits";
import type { Problem } from "./problems";
import type { Graph } from "./read";

export interface Fix {
  /** A word of the editor's words, with its values. */
  word: string;
  values: Record<string, string>;
  apply: (text: string) => string;
}

type Make = (said: readonly string[], graph: Graph) => Fix[];

/** What is said of what is wrong, and the ways out of it. */
const WAYS: readonly [said: RegExp, make: Make][] = [
  [
    /^task "(.+)": \$\{(.+)\} is no parameter of the workflow; did you mean \$\{(.+)\}\?$/,
    ([task = "", wrong = "", near = ""]) => [
      fix("fix.reference", { wrong, near }, (document) => renameReference(taskOf(document, task), wrong, near)),
      fix("fix.parameter", { name: wrong }, (document) => addParameter(document, wrong)),
    ],
  ],
  [
    /^task "(.+)" waits for "(.+)", which does not exist; (?:did you mean "(.+)"\?|add that task or remove it)$/,
    ([task = "", wrong = "", near]) => [
      ...(near === undefined
        ? []
        : [fix("fix.after", { wrong, near }, (document) => changeAfter(document, task, swap(wrong, near)))]),
      arrowFix(wrong, task),
    ],
  ],
  [
    /^tasks wait for each other in a circle: (.+); remove one of these arrows$/,
    ([ring = ""], graph) => ringOf(ring, graph).map(([from, to]) => arrowFix(from, to)),
  ],
  [
    /^task "(.+)": there is no task type "(?:.+)"; did you mean (.+)\?$/,
    ([task = "", near = ""]) => [fix("fix.type", { near }, (document) => taskOf(document, task)?.set("type", near))],
  ],
  [
    /^(?:task "(.+)": )?there is no field "(.+)", did you mean "(.+)"\?$/,
    ([task, wrong = "", near = ""]) => {
      const place = (document: Document) => (task === undefined ? document.contents : taskOf(document, task));
      return [fix("fix.field", { wrong, near }, (document) => renameKey(place(document), wrong, near))];
    },
  ],
  [/^task "(.+)" waits for itself; /, ([task = ""]) => [arrowFix(task, task)]],
  [
    /^task "(.+)" names the same task twice in its "after"; /,
    ([task = ""]) => [fix("fix.twice", { task }, (document) => changeAfter(document, task, (name) => name))],
  ],
];

/** The ways out of a problem, the likeliest first; none if it says none that a press could take. */
export function fixesOf({ sentence }: Problem, graph: Graph): Fix[] {
  for (const [said, make] of WAYS) {
    const found = said.exec(sentence);
    if (found !== null) return make(found.slice(1), graph);
  }
  return [];
}

function fix(word: string, values: Record<string, string>, change: (document: Document) => unknown): Fix {
  const apply = (text: string) => {
    const document = open(text);
    change(document);
    return written(document);
  };
  return { word, values, apply };
}

function arrowFix(from: string, to: string): Fix {
  return fix("fix.arrow", { from, to }, (document) => changeAfter(document, to, swap(from, null)));
}

/** One name as another, null = without it. */
function swap(wrong: string, near: string | null) {
  return (name: string) => (name === wrong ? near : name);
}

/** The arrows of a ring that the sentence names in one direction or the other. */
function ringOf(said: string, graph: Graph): [string, string][] {
  const names = said.split(" -> ");
  const has = (from: string, to: string) => graph.edges.some((edge) => edge.from === from && edge.to === to);
  return names.slice(1).flatMap((to, place): [string, string][] => {
    const from = names[place] ?? "";
    if (has(from, to)) return [[from, to]];
    return has(to, from) ? [[to, from]] : [];
  });
}

function taskOf(document: Document, name: string): YAMLMap | null {
  const found = tasksOf(document).items.find((item) => nameOf(item) === name);
  return isMap(found) ? found : null;
}

/** Each name in `after` as `to` gives it, null = without it; a name that would stand twice stands once. */
function changeAfter(document: Document, task: string, to: (name: string) => string | null): void {
  const found = taskOf(document, task);
  if (found === null) return;
  const after: unknown = found.get("after", true);
  if (isScalar(after)) {
    const name = to(String(after.value));
    if (name === null) found.delete("after");
    else after.value = name;
    return;
  }
  if (!isSeq(after)) return;
  const seen = new Set<string>();
  after.items = after.items.filter((item) => {
    const name = to(String(isScalar(item) ? item.value : item));
    if (name === null || seen.has(name)) return false;
    seen.add(name);
    if (isScalar(item)) item.value = name;
    return true;
  });
  if (after.items.length === 0) found.delete("after");
}

/** `${wrong}` as `${near}` in all texts of a task's parameters. `$${wrong}` is no reference and stays, `$$${wrong}` is
one after a pair. */
function renameReference(task: YAMLMap | null, wrong: string, near: string): void {
  const change = (node: unknown): void => {
    if (isScalar(node) && typeof node.value === "string")
      node.value = node.value
        .split(`\${${wrong}}`)
        .reduce((text, rest) => `${text}${isEscaped(text) ? `\${${wrong}}` : `\${${near}}`}${rest}`);
    else if (isMap(node)) for (const pair of node.items) change(pair.value);
    else if (isSeq(node)) node.items.forEach(change);
  };
  change(task?.get("params", true));
}

function isEscaped(before: string): boolean {
  return (before.length - before.replace(/\$+$/, "").length) % 2 === 1;
}

function addParameter(document: Document, name: string): void {
  const params = document.get("params", true);
  if (isMap(params)) params.set(name, "");
  else document.set("params", document.createNode({ [name]: "" }));
  // Parameters stand before the tasks that use them, as in what is exported.
  const root = document.contents;
  if (!isMap(root)) return;
  const at = root.items.findIndex((pair) => String(isScalar(pair.key) ? pair.key.value : pair.key) === "params");
  const tasks = root.items.findIndex((pair) => String(isScalar(pair.key) ? pair.key.value : pair.key) === "tasks");
  const [moved] = at > tasks && tasks >= 0 ? root.items.splice(at, 1) : [];
  if (moved !== undefined) root.items.splice(tasks, 0, moved);
}

function renameKey(node: unknown, wrong: string, near: string): void {
  if (!isMap(node) || node.has(near)) return;
  for (const pair of node.items) if (isScalar(pair.key) && pair.key.value === wrong) pair.key.value = near;
}

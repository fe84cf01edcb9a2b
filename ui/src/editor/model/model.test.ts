import { describe, expect, it } from "vitest";
import { compare } from "./compare";
import { blankOf, fieldsOf, fitting, plainField } from "./fields";
import { begin, edited, redone, undone } from "./history";
import { NODE, placed } from "./places";
import { problemsOf } from "./problems";
import { read } from "./read";

function graphOf(text: string) {
  const { graph } = read(text);
  if (graph === null) throw new Error("unreadable");
  return graph;
}

describe("history", () => {
  it("goes back and forth", () => {
    const later = edited(edited(begin("a"), "b", "", 1), "c", "", 2);
    expect(undone(later).text).toBe("b");
    expect(redone(undone(later)).text).toBe("c");
    expect(undone(undone(undone(later))).text).toBe("a");
    expect(redone(later)).toBe(later);
  });

  it("joins edits of one kind that follow each other quickly", () => {
    let history = edited(begin("a"), "b", "typed", 0);
    history = edited(history, "c", "typed", 100);
    expect(undone(history).text).toBe("a");
    history = edited(history, "d", "typed", 5_000);
    expect(undone(history).text).toBe("c");
  });

  it("forgets what was undone once something else is edited", () => {
    const history = edited(undone(edited(begin("a"), "b", "", 1)), "c", "", 2);
    expect(history.future).toEqual([]);
  });
});

it("two versions are compared by tasks and arrows", () => {
  const older = graphOf("tasks: [{name: a, type: FAKE}, {name: b, type: FAKE, after: [a]}, {name: d, type: FAKE}]");
  const newer = graphOf("tasks: [{name: a, type: FAKE, cache: true}, {name: b, type: FAKE}, {name: c, type: FAKE}]");
  const { tasks, edges, union } = compare(older, newer);
  expect(Object.fromEntries(tasks)).toEqual({ a: "changed", b: "same", c: "added", d: "removed" });
  expect(Object.fromEntries(edges)).toEqual({ "a → b": "removed" });
  expect(union.tasks.map((task) => task.name)).toEqual(["a", "b", "c", "d"]);
});

it("a schema becomes fields, required ones first", () => {
  const fields = fieldsOf({
    $defs: {
      Color: { enum: ["RED", "BLUE"], type: "string" },
      Row: { type: "object", properties: { over: { type: "string" }, no: { type: "integer" } }, required: ["over"] },
    },
    properties: {
      args: { items: { type: "string" }, type: "array" },
      color: { $ref: "#/$defs/Color", default: "RED" },
      count: { type: "integer", minimum: 1 },
      env: { type: "object", additionalProperties: { anyOf: [{ type: "string" }, { type: "integer" }] } },
      on: { type: "boolean" },
      user: { anyOf: [{ type: "string" }, { type: "null" }] },
      groups: { type: "array", items: { type: "object" } },
      rows: { type: "array", items: { $ref: "#/$defs/Row" } },
      each: { anyOf: [{ type: "string" }, { type: "array", items: {} }, { $ref: "#/$defs/Row" }] },
      next: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
      script: { type: "string" },
    },
    required: ["script"],
  });
  expect(fields.map((field) => `${field.name} ${field.kind}`)).toEqual([
    "script code",
    "args texts",
    "color choice",
    "count number",
    "env map",
    "on yesNo",
    "user text",
    "groups yaml",
    "rows rows",
    "each part",
    "next texts",
  ]);
  const named = (name: string) => fields.find((field) => field.name === name) ?? plainField(name, "yaml");
  expect(named("color").choices).toEqual(["RED", "BLUE"]);
  expect(blankOf(named("rows"))).toEqual([{ over: "" }]);
  expect(fitting(named("rows"), "rows").kind).toBe("yaml");
  expect(fitting(named("each"), "files").kind).toBe("part");
});

it("a task without a place stands below what it comes after, and on nothing else", () => {
  const graph = graphOf(`tasks: [{name: a, type: F}, {name: b, type: F, after: [a]}, {name: c, type: F, after: [a]}]
layout: {tasks: {a: {x: 0, y: 0}}}`);
  const { b, c } = placed(graph, null);
  expect(b?.y).toBeGreaterThan(NODE.h);
  expect(c?.y).toBe(b?.y);
  expect(Math.abs((c?.x ?? 0) - (b?.x ?? 0))).toBeGreaterThanOrEqual(NODE.w);
});

it("a problem belongs to the task on whose lines it is, or which it names", () => {
  const graph = graphOf("tasks:\n  - name: a\n    type: X\n  - name: b\n    type: Y\n");
  const [first, second, third] = problemsOf(
    graph,
    [{ line: 5, sentence: "no such type" }, { sentence: 'task "a" is wrong' }],
    [{ sentence: "so-so" }],
  );
  expect([first?.task, second?.task, third?.task]).toEqual(["b", "a", null]);
  expect(third?.isWarning).toBe(true);
});

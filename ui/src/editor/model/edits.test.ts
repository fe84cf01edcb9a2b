import { describe, expect, it } from "vitest";
import { copied, pasted } from "./clipboard";
import { addTask, connect, disconnect, moveTasks, removeTasks, renameTask, setAfter, setField } from "./edits";
import { addNote, changeNote, removeNotes } from "./notes";
import { read } from "./read";
import { Refusal } from "./rules";

const TEXT = `# The shop's numbers.
name: daily # the name
params: {day: 2026-01-31}

tasks:
  # Read only.
  - name: extract
    type: SHELL
    params: {script: "echo 1.10"} # quoted

  - name: check
    type: PYTHON
    params:
      script: |
        # a comment of the script
        print(1)
    after: [extract]
  - name: load # last
    type: SHELL
    params:
      script: echo load
    after: [check]
`;

/** The comments and keys of a text in their order: what an edit must keep. */
function marks(text: string): string[] {
  return text.match(/#[^\n]*|^\s*(?:- )?\w+:/gm) ?? [];
}

function graphOf(text: string) {
  const { graph } = read(text);
  if (graph === null) throw new Error("unreadable");
  return graph;
}

function wordOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Refusal) return error.word;
    throw error;
  }
  return "";
}

describe("an edit of the text", () => {
  it("changes no other line", () => {
    const after = setField(TEXT, "load", ["params", "script"], "echo loaded");
    expect(after).toBe(TEXT.replace("echo load\n", "echo loaded\n"));
  });

  it("keeps each digit of a task code of 64 bits", () => {
    const coded = TEXT.replace("  - name: load # last", "  - code: 9223372036854775807\n    name: load");
    expect(renameTask(coded, "load", "store")).toBe(coded.replace("name: load", "name: store"));
    expect(setField(coded, "load", ["code"], 7)).toContain("- code: 7\n");
  });

  it("keeps comments and order, whatever is edited", () => {
    const edits = [
      setField(TEXT, "extract", ["retry_times"], 2),
      addTask(TEXT, { type: "SQL", after: ["load"], place: { x: 1.4, y: 2 } }).text,
      connect(TEXT, "extract", "load"),
      moveTasks(TEXT, { load: { x: 10, y: 20 } }),
      addNote(TEXT, { text: "a note", x: 0, y: 0, w: 10, h: 10 }),
    ];
    for (const text of edits) {
      const kept = marks(text);
      let at = 0;
      for (const mark of marks(TEXT)) {
        at = kept.indexOf(mark, at) + 1;
        expect(at, `${mark} in ${text}`).toBeGreaterThan(0);
      }
    }
  });

  it("undoes itself: what is set and removed leaves the text as it was", () => {
    expect(setField(setField(TEXT, "load", ["retry_times"], 2), "load", ["retry_times"], undefined)).toBe(TEXT);
    expect(disconnect(connect(TEXT, "extract", "load"), "extract", "load")).toBe(TEXT);
    const { text, name } = addTask(TEXT, { type: "SHELL", place: { x: 0, y: 0 } });
    expect(removeTasks(text, [name])).toBe(TEXT);
    expect(removeNotes(addNote(TEXT, { text: "x", x: 0, y: 0, w: 1, h: 1 }), [0])).toBe(TEXT);
  });

  it("writes a text of several lines as a block, and back", () => {
    const many = setField(TEXT, "load", ["params", "script"], "echo a\necho b\n");
    expect(many).toContain("script: |\n        echo a\n        echo b\n");
    expect(setField(many, "load", ["params", "script"], "echo load")).toBe(TEXT);
  });

  it("is refused while the text cannot be read", () => {
    expect(wordOf(() => addTask("tasks: [", { type: "SHELL" }))).toBe("refuse.unreadable");
  });
});

describe("names", () => {
  it("are made unique", () => {
    const once = addTask(TEXT, { type: "SHELL" });
    const twice = addTask(once.text, { type: "SHELL" });
    expect([once.name, twice.name]).toEqual(["shell", "shell_2"]);
  });

  it("are refused where taken, empty or impossible", () => {
    expect(wordOf(() => renameTask(TEXT, "load", "check"))).toBe("refuse.sameName");
    expect(wordOf(() => renameTask(TEXT, "load", ""))).toBe("refuse.noName");
    expect(wordOf(() => renameTask(TEXT, "load", "12"))).toBe("refuse.badName");
  });

  it("change wherever they stand", () => {
    const switched = `tasks:
  - name: way
    type: SWITCH
    params: {cases: [{when: "1 == 1", then: pay}], default: [pay, wait]}
  - {name: ask, type: CONDITIONS, params: {when: {pay: SUCCESS}, on_success: pay}}
  - {name: pay, type: FAKE, after: [way]}
layout: {tasks: {pay: {x: 1, y: 2}}}
`;
    const text = renameTask(switched, "pay", "paid");
    expect(text).not.toMatch(/\bpay\b/);
    expect(text.replaceAll("paid", "pay")).toBe(switched);
  });
});

describe("arrows", () => {
  it("are refused if a task would wait for itself, with the way", () => {
    try {
      connect(TEXT, "load", "extract");
      expect.unreachable();
    } catch (error) {
      expect((error as Refusal).word).toBe("refuse.ring");
      expect((error as Refusal).values.ring).toBe("extract → check → load → extract");
    }
    expect(wordOf(() => connect(TEXT, "load", "load"))).toBe("refuse.self");
    expect(wordOf(() => setAfter(TEXT, "extract", ["load"]))).toBe("refuse.ring");
  });

  it("go with the task that is removed", () => {
    expect(graphOf(removeTasks(TEXT, ["check"])).edges).toEqual([]);
  });

  it("take the start rule of a task with them when the last one goes", () => {
    const ruled = setField(TEXT, "load", ["start_when"], "all_done");
    expect(graphOf(ruled).tasks.find((task) => task.name === "load")?.fields.start_when).toBe("all_done");
    const two = connect(ruled, "extract", "load");
    expect(disconnect(two, "extract", "load")).toContain("start_when: all_done");
    for (const none of [disconnect(ruled, "check", "load"), setAfter(ruled, "load", []), removeTasks(ruled, ["check"])])
      expect(none).not.toContain("start_when");
  });

  it("say under which choice a task comes next", () => {
    const { edges } = graphOf(`tasks:
  - {name: way, type: SWITCH, params: {cases: [{when: a, then: b}], default: c}}
  - {name: b, type: FAKE, after: [way]}
  - {name: c, type: FAKE, after: [way]}
`);
    expect(edges.map((edge) => edge.branch)).toEqual([{ when: "a" }, { word: "default" }]);
  });
});

describe("the clipboard", () => {
  it("carries tasks with their comments into another workflow, under free names", () => {
    const clip = copied(TEXT, ["extract", "check"], { extract: { x: 5, y: 6 } });
    expect(clip).toContain("# quoted");
    const { text, names } = pasted("name: other\ntasks: []\n", clip);
    expect(names).toEqual(["extract", "check"]);
    expect(text).toContain("# quoted");
    const again = pasted(text, clip);
    expect(again.names).toEqual(["extract_2", "check_2"]);
    expect(graphOf(again.text).edges).toEqual([
      { from: "extract", to: "check" },
      { from: "extract_2", to: "check_2" },
    ]);
    expect(graphOf(again.text).places.extract_2).toEqual({ x: 37, y: 38 });
  });

  it("refuses what is no task", () => {
    expect(wordOf(() => pasted(TEXT, "hello"))).toBe("refuse.notTasks");
  });
});

it("a note is changed where it stands", () => {
  const text = changeNote(addNote(TEXT, { text: "x", x: 0, y: 0, w: 1, h: 1 }), 0, { text: "y", x: 4.6 });
  expect(graphOf(text).notes).toEqual([{ text: "y", x: 5, y: 0, w: 1, h: 1 }]);
});

it("a text that cannot be read says where", () => {
  expect(read("name: a\ntasks: [\n").fault?.word).toBe("yaml");
  expect(read("tasks:\n  - a\n").fault).toMatchObject({ line: 2, word: "taskNotMap" });
  expect(read("a: 1\n---\nb: 1\n").fault?.word).toBe("manyDocuments");
});

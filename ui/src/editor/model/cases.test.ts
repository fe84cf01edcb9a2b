import { describe, expect, it } from "vitest";
import { cut, draw, setChoice } from "./cases";
import { casesOf, read, type Task } from "./read";

const TEXT = `tasks:
  - name: way # how to pay
    type: SWITCH
    params:
      cases:
        - {when: "\${sum} < 9", then: cash} # small
        - {when: "true", then: [bank, note]}
      default: wait
  - {name: cash, type: FAKE, after: [way]}
  - {name: bank, type: FAKE, after: [way]}
  - {name: note, type: FAKE, after: [way]}
  - {name: wait, type: FAKE, after: [way]}
  - {name: free, type: FAKE}
`;

function way(text: string): Task {
  const task = read(text).graph?.tasks[0];
  if (task === undefined) throw new Error("it cannot be read");
  return task;
}

const thens = (text: string) => [...casesOf(way(text)).map(({ next }) => next), way(text).params.default];
const arrows = (text: string) =>
  read(text)
    .graph?.edges.filter(({ from }) => from === "way")
    .map(({ to }) => to);

describe("the cases of a SWITCH", () => {
  it("get one by an arrow, and lose it with the arrow", () => {
    const drawn = draw(TEXT, "way", "free");
    expect(thens(drawn)).toEqual([["cash"], ["bank", "note"], ["free"], "wait"]);
    expect(drawn).toContain("# small");
    expect(thens(cut(drawn, "way", "free"))).toEqual(thens(TEXT));
    expect(thens(cut(TEXT, "way", "note"))).toEqual([["cash"], ["bank"], "wait"]);
    expect(thens(cut(TEXT, "way", "wait"))).toEqual([["cash"], ["bank", "note"], undefined]);
    expect(draw(TEXT, "way", "cash")).toBe(TEXT);
  });

  it("draw the arrows to what they choose", () => {
    const chosen = setChoice(TEXT, way(TEXT), ["params", "cases", 0, "then"], ["free", "bank"]);
    expect(thens(chosen)).toEqual([["free", "bank"], ["bank", "note"], "wait"]);
    expect(arrows(chosen)).toEqual(["bank", "note", "wait", "free"]);
    const none = setChoice(TEXT, way(TEXT), ["params", "default"], undefined);
    expect(thens(none).at(-1)).toBeUndefined();
    expect(arrows(none)).toEqual(["cash", "bank", "note"]);
  });

  it("go with their arrows", () => {
    const rest = setChoice(TEXT, way(TEXT), ["params", "cases", 1], undefined);
    expect(thens(rest)).toEqual([["cash"], "wait"]);
    expect(arrows(rest)).toEqual(["cash", "wait"]);
  });

  it("begin with the first", () => {
    const text = "tasks:\n  - {name: way, type: SWITCH}\n  - {name: a, type: FAKE}\n";
    expect(casesOf(way(draw(text, "way", "a")))).toEqual([{ when: "", next: ["a"] }]);
  });
});

it("the branches of a CONDITIONS get the first arrows, and go with them", () => {
  const text = "tasks:\n  - {name: way, type: CONDITIONS}\n  - {name: a, type: FAKE}\n  - {name: b, type: FAKE}\n";
  const both = draw(draw(text, "way", "a"), "way", "b");
  expect(way(both).params).toEqual({ on_success: "a", on_failure: "b" });
  expect(way(cut(both, "way", "a")).params).toEqual({ on_failure: "b" });
});

import { expect, it } from "vitest";
import { connected, graphOf, type Relation } from "./model";

function relation(own: string, type: Relation["type"], other: string, task = "t"): Relation {
  const end = (name: string) => ({ project: "p", name, ...(name !== "gone" && { code: "1" }) });
  return { workflow: end(own), task, type, refers_to: end(other) };
}

it("arrows point from what starts or feeds to what is started or waits", () => {
  const graph = graphOf([
    relation("a", "SUB_PROCESS", "b"),
    relation("b", "DEPENDENT", "c"),
    relation("a", "SUB_PROCESS", "b", "u"),
  ]);
  expect(graph.arrows.map(({ from, to, tasks }) => [from, to, tasks])).toEqual([
    ["p/a", "p/b", ["t", "u"]],
    ["p/c", "p/b", ["t"]],
  ]);
});

it("a workflow that is not there is known", () => {
  expect(graphOf([relation("a", "DYNAMIC", "gone")]).workflows.map((each) => each.isThere)).toEqual([true, false]);
});

it("what is connected with a workflow, in both directions and no further", () => {
  const graph = graphOf([
    relation("a", "SUB_PROCESS", "b"),
    relation("b", "SUB_PROCESS", "c"),
    relation("x", "SUB_PROCESS", "c"),
  ]);
  expect(connected(graph, "p/b").workflows.map((each) => each.name)).toEqual(["a", "b", "c"]);
});

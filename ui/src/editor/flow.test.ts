import { expect, it } from "vitest";
import { arrowsOf, foldedArrows, nodesOf, type Words } from "./flow";
import { read } from "./model/read";

const NOTHING = () => undefined;
const words: Words = { task: () => "", note: () => "", arrow: () => "", branch: () => "" };
const TEXT = `name: w
tasks:
  - {name: a, type: FAKE}
  - {name: b, type: FAKE, group: load, after: [a]}
  - {name: c, type: FAKE, group: load, after: [a, b]}
  - {name: d, type: FAKE, after: [b, c]}
`;

it("a folded group is one node where its tasks begin, and has their arrows", () => {
  const { graph } = read(TEXT);
  if (graph === null) throw new Error("it can be read");
  const places = { a: { x: 0, y: 0 }, b: { x: 50, y: 100 }, c: { x: 10, y: 200 }, d: { x: 0, y: 300 } };
  const folding = { folded: new Set(["load"]), toggle: NOTHING };
  const given = { graph, places, problems: [], inMaster: new Set<string>(), words };
  const nodes = nodesOf({ ...given, isFixed: false, folding, onText: NOTHING, onSize: NOTHING });
  expect(nodes.map(({ id }) => id)).toEqual(["task:a", "task:d", "group:load"]);
  expect(nodes.at(-1)).toMatchObject({ position: { x: 10, y: 100 }, data: { tasks: 2 } });
  const arrows = foldedArrows(arrowsOf(graph.edges, words, false), graph.tasks, folding.folded);
  expect(arrows.map(({ source, target }) => [source, target])).toEqual([
    ["task:a", "group:load"],
    ["group:load", "task:d"],
  ]);
  expect(arrows.every((arrow) => arrow.deletable === false)).toBe(true);
});

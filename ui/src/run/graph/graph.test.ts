import { expect, it } from "vitest";
import { layered } from "@/graph/layered";
import { drawingOf } from "./collapse";

const wide = [
  { name: "list", after: [] },
  ...Array.from({ length: 400 }, (_, number) => ({ name: `import_${number}`, after: ["list"] })),
  { name: "join", after: Array.from({ length: 400 }, (_, number) => `import_${number}`) },
];

it("many tasks between the same two are drawn as one", () => {
  const { items, edges } = drawingOf(wide);
  expect(items.map((item) => item.names.length).sort((one, other) => one - other)).toEqual([1, 1, 400]);
  expect(edges).toEqual([
    ["list", "import_0"],
    ["import_0", "join"],
  ]);
});

it("a small graph is drawn as it is", () => {
  expect(drawingOf(wide.slice(0, 20)).items).toHaveLength(20);
});

it("boxes stand in columns after what they come after", () => {
  const places = layered({
    nodes: ["a", "b", "c"].map((id) => ({ id, w: 140, h: 50 })),
    edges: ["ab", "bc", "ac"].map(([from = "", to = ""]) => ({ from, to })),
    direction: "LR",
    gap: { beside: 14, between: 28 },
  });
  expect((places.a?.x ?? 0) < (places.b?.x ?? 0) && (places.b?.x ?? 0) < (places.c?.x ?? 0)).toBe(true);
});

it("a folded group is drawn as one, with the arrows of its tasks to others", () => {
  const tasks = ["a", "b>a", "c>a,b", "d>c"].map((text) => {
    const [name = "", after = ""] = text.split(">");
    return { name, after: after === "" ? [] : after.split(",") };
  });
  const { items, edges } = drawingOf(
    tasks,
    new Map([
      ["b", "load"],
      ["c", "load"],
    ]),
  );
  expect(items).toEqual([
    { id: "a", names: ["a"] },
    { id: "group:load", names: ["b", "c"], group: "load" },
    { id: "d", names: ["d"] },
  ]);
  expect(edges).toEqual([
    ["a", "group:load"],
    ["group:load", "d"],
  ]);
});

it("a graph of few tasks and large folded groups is drawn in boxes", () => {
  const { items } = drawingOf(wide, new Map(wide.slice(1, -1).map(({ name }) => [name, "imports"])));
  expect(items.map((item) => item.group)).toEqual([undefined, "imports", undefined]);
});

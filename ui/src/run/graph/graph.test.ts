import { expect, it } from "vitest";
import { drawingOf } from "./collapse";
import { layered } from "./layered";

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
  const places = layered(
    ["a", "b", "c"],
    [
      ["a", "b"],
      ["b", "c"],
      ["a", "c"],
    ],
  );
  expect((places.a?.x ?? 0) < (places.b?.x ?? 0) && (places.b?.x ?? 0) < (places.c?.x ?? 0)).toBe(true);
});

import { expect, it } from "vitest";
import { framesOf } from "./frames";

const at = (group: string, x: number, y: number) => ({ group, x, y, w: 100, h: 40 });

it("a frame is around the nodes of its group", () => {
  expect(framesOf([at("load", 0, 100), at("load", 140, 180), at("", 0, 0)])).toEqual([
    { name: "load", x: -10, y: 80, w: 260, h: 150 },
  ]);
});

it("no node of another group, or of none, is in a frame: a group in two places has two", () => {
  const between = [at("load", 0, 0), at("", 140, 0), at("load", 280, 0), at("load", 420, 0)];
  expect(framesOf(between).map(({ name, x, w }) => [name, x, w])).toEqual([
    ["load", -10, 120],
    ["load", 270, 260],
  ]);
});

import { expect, it } from "vitest";
import { arrange } from "./arrange";

it("what comes after stands below, and nothing overlaps", () => {
  const size = { w: 100, h: 40 };
  const places = arrange({
    nodes: ["a", "b", "c"].map((id) => ({ id, ...size })),
    edges: [
      { from: "a", to: "b" },
      { from: "a", to: "c" },
    ],
    direction: "TB",
    gap: { beside: 28, between: 44 },
  });
  expect(places.b?.y).toBeGreaterThanOrEqual((places.a?.y ?? 0) + size.h);
  expect(Math.abs((places.b?.x ?? 0) - (places.c?.x ?? 0))).toBeGreaterThanOrEqual(size.w);
});

it("siblings keep the order in which they are given, whatever comes after them", () => {
  const size = { w: 100, h: 40 };
  const arrows = ["root d", "root c", "root b", "b end", "c last", "d last", "d more", "end close", "last close"];
  for (const direction of ["TB", "LR"] as const) {
    const places = arrange({
      nodes: ["root", "d", "b", "c", "more", "last", "end", "close"].map((id) => ({ id, ...size })),
      edges: arrows.map((arrow) => ({ from: arrow.split(" ")[0] ?? "", to: arrow.split(" ")[1] ?? "" })),
      direction,
      gap: { beside: 28, between: 44 },
    });
    const at = (id: string) => places[id]?.[direction === "TB" ? "x" : "y"] ?? Number.NaN;
    expect(at("d")).toBeLessThan(at("b"));
    expect(at("b")).toBeLessThan(at("c"));
  }
});

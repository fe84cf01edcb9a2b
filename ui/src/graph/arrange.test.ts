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

it("1,500 tasks are arranged in less than a second: each below what it comes after, none over another", () => {
  const [w, h, width] = [100, 40, 75];
  const ids = Array.from({ length: 1_500 }, (_, number) => number);
  const edges = ids.slice(width).flatMap((id) => [
    { from: String(id - width), to: String(id) },
    { from: String(id - width - (id % width) + ((id + 1) % width)), to: String(id) },
  ]);
  const began = performance.now();
  const places = arrange({
    nodes: ids.map((id) => ({ id: String(id), w, h })),
    edges,
    direction: "TB",
    gap: { beside: 28, between: 44 },
  });
  expect(performance.now() - began).toBeLessThan(1_000);
  for (const { from, to } of edges) expect(places[to]?.y).toBeGreaterThanOrEqual((places[from]?.y ?? 0) + h);
  expect(new Set(Object.values(places).map(({ x, y }) => `${x} ${y}`)).size).toBe(1_500);
  const across = Object.values(places).map(({ x }) => x);
  expect(Math.max(...across) - Math.min(...across)).toBeLessThan(width * w);
});

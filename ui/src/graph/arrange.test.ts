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

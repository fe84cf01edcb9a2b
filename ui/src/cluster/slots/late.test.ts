import { expect, it, vi } from "vitest";
import { lateAfter } from "./late";

vi.hoisted(() => vi.stubGlobal("document", { baseURI: "http://shoal/" }));

it("a beat is late by the time between beats of this cluster", () => {
  expect(lateAfter({ heartbeat_every: 2 })).toBe(6);
  expect(lateAfter({ heartbeat_every: 0.5 })).toBe(1.5);
  expect(1e9 > lateAfter(null)).toBe(false);
});

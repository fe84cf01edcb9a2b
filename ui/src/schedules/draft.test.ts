import { expect, test } from "vitest";
import { pairsOf } from "@/forms/Pairs";
import { changesOf, localTime, newDraft } from "./draft";

test("only what was changed is sent", () => {
  const before = { ...newDraft("1", "UTC"), params: pairsOf({ day: "1", city: "x" }) };
  const none = { again: false, params: {}, without_params: [] };
  expect(changesOf(before, before)).toEqual(none);
  expect(changesOf({ ...before, cron: "0 0 6 * * ?", worker_group: " gpu " }, before)).toEqual({
    ...none,
    cron: "0 0 6 * * ?",
    worker_group: "gpu",
  });
  expect(changesOf({ ...before, params: pairsOf({ day: "2" }) }, before)).toEqual({
    ...none,
    params: { day: "2" },
    without_params: ["city"],
  });
});

test("a moment is shown in the zone of the schedule", () => {
  expect(localTime("2026-11-30T23:00:00Z", "Europe/Berlin")).toBe("2026-12-01T00:00");
  expect(localTime(null, "UTC")).toBe("");
});

import { describe, expect, it } from "vitest";
import { needsOf } from "./needs";
import type { Asked, FailedRun, Refused } from "./queries";

const failed: FailedRun = {
  id: "7",
  workflow_code: "1",
  project: "retail",
  started_at: "2026-11-20T10:00:00Z",
  ended_at: "2026-11-20T10:05:00Z",
  version: 1,
  newest_version: 1,
  times_this_week: 1,
};
const refused: Refused = {
  id: "9",
  master: "1",
  params: "{}",
  reason: "run 3 has ended",
  refused_at: "2026-11-20T10:09:00Z",
  type: "STOP",
};

const asked = { task_instance_id: "4", project: "retail", since: "2026-11-20T10:02:00Z" } as Asked;
const read = { failed: [failed], lateRuns: [], lateSchedules: [], refused: [refused], asked: [asked] };

describe("needsOf", () => {
  it("mixes the kinds, newest first", () => {
    const needs = needsOf(read, null);
    expect(needs.map((need) => need.kind)).toEqual(["refused", "failed", "asked"]);
    expect(needs[2]?.of.id).toBe("4");
  });
  it("keeps to the chosen project", () => {
    expect(needsOf(read, "retail").map((need) => need.kind)).toEqual(["failed", "asked"]);
  });
});

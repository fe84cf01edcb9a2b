import { describe, expect, it } from "vitest";
import { marksOf } from "./timeline";

const now = Date.parse("2026-11-20T14:00:00Z");

function fire(utc: string, workflow: string) {
  return { utc, workflow, local: utc, time_zone: "UTC", schedule_id: workflow };
}

describe("marksOf", () => {
  it("places what fires within the hour, and labels only where there is room", () => {
    const marks = marksOf(
      [
        fire("2026-11-20T14:15:00Z", "a"),
        fire("2026-11-20T14:18:00Z", "b"),
        fire("2026-11-20T14:30:00Z", "c"),
        fire("2026-11-20T16:00:00Z", "d"),
      ],
      now,
    );
    expect(marks.map((mark) => [mark.share, mark.label])).toEqual([
      [0.25, "a"],
      [0.3, ""],
      [0.5, "c"],
    ]);
  });
});

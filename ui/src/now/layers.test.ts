import { describe, expect, it } from "vitest";
import { layersOf } from "./layers";

describe("layersOf", () => {
  it("puts each task right of what it comes after", () => {
    const { columns, rows, tasks, arrows } = layersOf([
      { name: "greet", after: [] },
      { name: "cores", after: ["greet"] },
      { name: "time", after: ["greet"] },
      { name: "bye", after: ["cores", "time"] },
    ]);
    expect([columns, rows, arrows.length]).toEqual([3, 2, 4]);
    expect(tasks).toContainEqual({ name: "time", column: 1, down: 0.75 });
    expect(tasks).toContainEqual({ name: "bye", column: 2, down: 0.5 });
  });
});

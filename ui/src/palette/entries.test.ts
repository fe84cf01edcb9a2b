import { IconSearch } from "@tabler/icons-react";
import { describe, expect, it } from "vitest";
import { type Entry, grouped, matching } from "./entries";

function entry(name: string, group = "Pages", also = ""): Entry {
  return { id: name, name, group, also, about: "", icon: IconSearch, act: () => undefined };
}

describe("matching", () => {
  it("wants each word, in any case, and puts what begins so first", () => {
    const all = [entry("Go to Runs"), entry("Runs of today"), entry("Queue")];
    expect(matching(all, "RUNS").map((each) => each.name)).toEqual(["Runs of today", "Go to Runs"]);
    expect(matching(all, "to runs").map((each) => each.name)).toEqual(["Go to Runs", "Runs of today"]);
    expect(matching(all, "")).toHaveLength(3);
  });
  it("finds by other words too", () => {
    expect(matching([entry("队列", "页面", "Queue")], "queue")).toHaveLength(1);
  });
});

describe("grouped", () => {
  it("keeps the order of groups and entries", () => {
    const groups = grouped([entry("a", "one"), entry("b", "two"), entry("c", "one")]);
    expect(groups.map(([name, of]) => [name, of.map((each) => each.name)])).toEqual([
      ["one", ["a", "c"]],
      ["two", ["b"]],
    ]);
  });
});

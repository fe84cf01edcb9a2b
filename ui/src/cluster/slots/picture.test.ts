import { describe, expect, it } from "vitest";
import { marksOf } from "./marks";
import { movesUntilMs, type Size, sceneAt, TRANSIT_MS } from "./picture";
import { type Change, type Command, mastersAt, merged, type Reason, type Story, slotOf, usualWaitMs } from "./story";

const SIZE: Size = { width: 1100, left: 132, right: 340, pitch: 78, top: 14 };
const DEATH = 100_000;

function change(number: number, atMs: number, names: string[], what: [string, Reason][]): Change {
  const epochOf = (name: string) => name.slice(1);
  return {
    number,
    atMs,
    members: names.map((name, slot) => ({ epoch: epochOf(name), name, slot })),
    changes: what.map(([name, reason]) => ({ epoch: epochOf(name), name, reason })),
  };
}

function command(id: number, bornMs: number, more: Partial<Command> = {}): Command {
  const rest = { kind: "start", takenMs: bornMs + 40, master: null, isRefused: false, runId: null } as const;
  return { id: String(id), bornMs, ...rest, ...more };
}

/** Four masters, of which m2 is fenced. */
function story(commands: Command[]): Story {
  return {
    idStep: 1n,
    changes: [
      change(1, 0, ["m1", "m2", "m3", "m4"], [["m1", "JOINED"]]),
      change(2, DEATH, ["m1", "m3", "m4"], [["m2", "FENCED"]]),
    ],
    commands,
    isCut: false,
  };
}

describe("the masters at a time", () => {
  it("are those of the change in force, with their slots", () => {
    expect(mastersAt(story([]), DEATH - 1).map(({ name, slot }) => [name, slot])).toEqual([
      ["m1", 0],
      ["m2", 1],
      ["m3", 2],
      ["m4", 3],
    ]);
  });

  it("keep one that is gone in its place for a while", () => {
    const after = mastersAt(story([]), DEATH + 5_000);
    expect(after.map(({ name, slot, gone }) => [name, slot, gone])).toEqual([
      ["m1", 0, null],
      ["m2", null, "FENCED"],
      ["m3", 1, null],
      ["m4", 2, null],
    ]);
    expect(mastersAt(story([]), DEATH + 60_000)).toHaveLength(3);
  });

  it("have the commands that wait for their slot, and what they took lately", () => {
    const told = story([command(4, DEATH - 1_000, { takenMs: null }), command(8, DEATH - 900, { master: "1" })]);
    const [first] = mastersAt(told, DEATH - 500);
    expect([first?.waiting, first?.perS]).toEqual([1, 0.2]);
  });
});

describe("the picture", () => {
  it("is the same for the same time", () => {
    const told = story([command(5, DEATH - 1_000), command(6, DEATH - 500)]);
    expect(sceneAt(told, DEATH + 300, SIZE)).toEqual(sceneAt(told, DEATH + 300, SIZE));
  });

  it("moves a command that waits to the lane of the new count, once the wave has passed", () => {
    const told = story([command(5, DEATH - TRANSIT_MS - 500, { takenMs: null })]);
    const before = sceneAt(told, DEATH - 1, SIZE);
    const after = sceneAt(told, DEATH + 3_000, SIZE);
    expect(before.dots[0]?.shape).toBe("hollow");
    expect(before.dots[0]?.y).toBeCloseTo(before.rows[1]?.y ?? 0);
    expect(after.dots[0]?.y).toBeCloseTo(after.rows.find((row) => row.slot === 2)?.y ?? 0);
  });

  it("lets runs swim from the master that is gone to their new owners", () => {
    const told = story([command(20_000, DEATH - 800, { kind: "failover", takenMs: DEATH + 100, master: "3" })]);
    const at = sceneAt(told, DEATH - 400, SIZE);
    expect([at.swimmers.length, at.dots.length]).toEqual([1, 0]);
    expect(sceneAt(told, DEATH + 4_000, SIZE).swimmers).toEqual([]);
  });

  it("shows a refused command by its shape", () => {
    const told = story([command(5, 50_000, { isRefused: true, master: "2" })]);
    expect(sceneAt(told, 50_020, SIZE).dots[0]?.shape).toBe("round");
    expect(sceneAt(told, 51_000, SIZE).dots[0]?.shape).toBe("diamond");
  });

  it("rests when everything has arrived", () => {
    const told = story([command(5, 50_000)]);
    expect(movesUntilMs(told, 50_000)).toBeGreaterThan(50_000 + TRANSIT_MS);
    expect(movesUntilMs(told, 80_000)).toBeLessThan(80_000);
  });
});

it("a command belongs to its id modulo the slots, beyond 53 bits too", () => {
  expect(slotOf("9223372036854775807", 1n, 4)).toBe(3);
  expect(slotOf("100", 10n, 4)).toBe(2);
});

it("newer words about a command replace older ones, and old commands are forgotten", () => {
  const waits = command(1, 1_000, { takenMs: null });
  const taken = command(1, 1_000, { takenMs: 5_000 });
  expect(merged([waits, command(2, 500)], [taken], 2_000)).toEqual([taken]);
});

it("the usual wait is the middle one", () => {
  const waits = [10, 1_000, 40].map((wait, place) => command(place, 1_000 * place, { takenMs: 1_000 * place + wait }));
  expect(usualWaitMs(story(waits), 10_000)).toBe(40);
});

it("changes that are near each other are one mark, the gravest", () => {
  const joined = change(3, DEATH + 1_000, ["m1"], [["m5", "JOINED"]]);
  const marks = marksOf([...story([]).changes, joined], 0, 900_000, 900_000);
  expect(marks.map((each) => [each.change.number, each.count])).toEqual([
    [1, 1],
    [2, 2],
  ]);
});

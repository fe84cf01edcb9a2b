import { expect, test } from "vitest";
import { deliveryOf, hasFailed, inOrder, severityOf, stateOf, whenOf } from "./looks";

test("no two results of a channel look alike but those that arrived", () => {
  const looks = [
    { state: "WAIT", tries: 0 },
    { state: "WAIT", tries: 3 },
    { state: "SENT", tries: 1 },
    { state: "FAILED", tries: 9 },
    { state: "SILENCED", tries: 0 },
  ].map((each) => deliveryOf(each).look);
  expect(new Set(looks).size).toBe(5);
  expect(deliveryOf({ state: "GROUPED", tries: 1 }).look).toBe(deliveryOf({ state: "SENT", tries: 1 }).look);
});

test("severities differ in their look, and an unknown one is neither good nor bad", () => {
  expect(new Set(["INFO", "WARNING", "CRITICAL"].map((each) => severityOf(each).look)).size).toBe(3);
  expect(severityOf("NEW").look).toBe("NOT_BEGUN");
});

test("only what failed or reached nobody is sent again", () => {
  const delivery = { channel: "a", state: "FAILED", tries: 3 };
  expect(hasFailed({ kind: "RULE", state: "EXPANDED", deliveries: [delivery] })).toBe(true);
  expect(hasFailed({ kind: "RULE", state: "EXPANDED", deliveries: [{ ...delivery, state: "WAIT" }] })).toBe(false);
  expect(hasFailed({ kind: "RULE", state: "NOBODY", deliveries: [] })).toBe(true);
  expect(hasFailed({ kind: "TEST", state: "EXPANDED", deliveries: [delivery] })).toBe(false);
  expect(hasFailed({ kind: "RULE", state: "SILENCED", deliveries: [] })).toBe(false);
});

test("the channels say what became of an alert that has any", () => {
  expect(stateOf({ state: "EXPANDED" })).toBeNull();
  expect(stateOf({ state: "NOBODY" })?.word).toBe("state.NOBODY");
});

test("a silence is over at its end, and not begun before its start", () => {
  const silence = { starts_at: "2026-11-20T10:00:00Z", ends_at: "2026-11-20T12:00:00Z" };
  expect(whenOf(silence, Date.parse("2026-11-20T09:59:59Z"))).toBe("future");
  expect(whenOf(silence, Date.parse("2026-11-20T10:00:00Z"))).toBe("now");
  expect(whenOf(silence, Date.parse("2026-11-20T12:00:00Z"))).toBe("past");
});

test("silences that are come before those that will be, and those before what is over", () => {
  const at = (hour: number) => `2026-11-20T${String(hour).padStart(2, "0")}:00:00Z`;
  const silence = (from: number, to: number) => ({ starts_at: at(from), ends_at: at(to) });
  const [over, longOver, soon, later, short, long] = [
    silence(6, 9),
    silence(1, 2),
    silence(12, 13),
    silence(14, 15),
    silence(9, 11),
    silence(8, 20),
  ];
  const shown = inOrder([later, longOver, long, over, soon, short], Date.parse(at(10)));
  expect(shown).toEqual([short, long, soon, later, over, longOver]);
});

import { expect, test } from "vitest";
import { partsOf } from "./commands";

test("two hints beside each other are two commands", () => {
  const text = "Start it now: shoal task restart 3 --task crash   Its logs: shoal show 3";
  expect(partsOf(text)).toEqual([
    "Start it now: ",
    "shoal task restart 3 --task crash",
    " · Its logs: ",
    "shoal show 3",
    "",
  ]);
});

test("a command ends with its sentence, but not in a name with a dot", () => {
  expect(partsOf("Try shoal pool show a.b; or `shoal why 7`, later.")).toEqual([
    "Try ",
    "shoal pool show a.b",
    "; or ",
    "shoal why 7",
    ", later.",
  ]);
  expect(partsOf("See it: shoal show 3.")).toEqual(["See it: ", "shoal show 3", "."]);
});

test("a sentence without a command is one part", () => {
  expect(partsOf("Nothing is missing.")).toEqual(["Nothing is missing."]);
});

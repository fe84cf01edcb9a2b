import { expect, it } from "vitest";
import { partsOf, shownOf } from "./logParts";

it("named colours are the theme's, the others are told exactly", () => {
  const parts = partsOf(
    "\u001b[31mred\u001b[38;5;208mpalette\u001b[38;5;244mgray\u001b[38;2;1;2;3mtrue\u001b[0m\u001b[48;5;21mbelow",
  );
  expect(parts).toEqual([
    { text: "red", look: "ansi-red" },
    { text: "palette", look: "ink", ink: "rgb(255, 135, 0)" },
    { text: "gray", look: "ink", ink: "rgb(128, 128, 128)" },
    { text: "true", look: "ink", ink: "rgb(1, 2, 3)" },
    { text: "below", look: "ground", ground: "rgb(0, 0, 255)" },
  ]);
});

it("an address is a part of its own and leads to the whole of it, also where its row or its colour ends", () => {
  const line = "see (https://example.org/a?b=1). Then";
  const shown = (from: number, to: number) => shownOf(partsOf(line), from, to).map((part) => [part.text, part.address]);
  const address = "https://example.org/a?b=1";
  expect(shown(0, 99)).toEqual([
    ["see (", undefined],
    [address, address],
    ["). Then", undefined],
  ]);
  expect(shown(10, 20)).toEqual([["://example", address]]);
  const colored = shownOf(partsOf("https://exam\u001b[1mple.org\u001b[0m."), 0, 99);
  expect(colored.map((part) => [part.text, part.look, part.address])).toEqual([
    ["https://exam", "", "https://example.org"],
    ["ple.org", "ansi-bold", "https://example.org"],
    [".", "", undefined],
  ]);
});

it("what is no address of the web stays text", () => {
  expect(shownOf(partsOf("javascript:alert(1) ftp://a http://"), 0, 99)).toEqual([
    { text: "javascript:alert(1) ftp://a http://", look: "" },
  ]);
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** Each English string of the page, by its file and key. */
function strings(): [string, string][] {
  const files = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith("en.json"));
  return files.flatMap((file) => {
    const words: Record<string, string> = JSON.parse(readFileSync(join(ROOT, file), "utf8"));
    return Object.entries(words).map(([key, text]): [string, string] => [`${file} ${key}`, text]);
  });
}

/** Of what is never one: the task after many, the day of 23 or 25 hours, the run that ran again, the cut grid. */
const NEVER_ONE = /(short\.afterMany|hoursOfDay|times|gridCut)$/;

test("nothing is counted as 1 lines or 3 chain(s): a plural has a singular beside it", () => {
  const counts = /\{\{(count|number|shown|left|total|times|days|hours|minutes|bytes|chains)\}\} [a-z]{2,}s\b/;
  const wrong = strings().filter(
    ([key, text]) =>
      /[a-z]\(s\)/.test(text) || (counts.test(text) && !/_(one|other)$/.test(key) && !NEVER_ONE.test(key)),
  );
  expect(wrong).toEqual([]);
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");

function sheets(): string[] {
  return readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".css"));
}

/** The classes that a style sheet styles wherever they stand: `.card { … }`, and not `.run-graph .card { … }`. */
function styledAnywhere(sheet: string): Set<string> {
  const text = readFileSync(join(ROOT, sheet), "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
  const selectors = [...text.matchAll(/([^{}]+)\{/g)].flatMap(([, selector]) => selector?.split(",") ?? []);
  return new Set(selectors.flatMap((selector) => /^\s*\.([a-z][\w-]*)\s*$/.exec(selector)?.[1] ?? []));
}

test("no class is styled by two sheets: a page's sheet stays when another page is opened", () => {
  const owners = new Map<string, string[]>();
  for (const sheet of sheets())
    for (const name of styledAnywhere(sheet)) owners.set(name, [...(owners.get(name) ?? []), sheet]);
  expect([...owners].filter(([, of]) => of.length > 1)).toEqual([]);
});

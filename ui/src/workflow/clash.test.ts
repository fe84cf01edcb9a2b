import { expect, test } from "vitest";
import type { Draft, Head, Source } from "@/editor/queries";
import { clashOf } from "./clash";

const source = (version: number | null, draft: [number, number | undefined] | null = null): Source => ({
  head: version === null ? null : ({ version } as Head),
  published: "published",
  draft: draft === null ? null : ({ revision: draft[0], base_version: draft[1], content: "draft" } as Draft),
});
const seen = (base?: number, revision?: number) => ({ text: "mine", base, revision });

test.each([
  ["nothing changed", source(1), seen(1), null],
  ["the own draft", source(1, [7, 1]), seen(1, 7), null],
  ["a version was published", source(2), seen(1), "published"],
  ["a version was published beside the draft", source(2, [7, 1]), seen(1, 7), "published"],
  ["the workflow was made meanwhile", source(1), seen(), "published"],
  ["the workflow is gone", source(null), seen(1), null],
  ["another window saved a draft", source(1, [8, 1]), seen(1), "draft"],
  ["another window changed the draft", source(1, [8, 1]), seen(1, 7), "draft"],
  ["another window discarded the draft", source(1), seen(1, 7), "draft"],
] as const)("%s", (_, now, then, kind) => {
  expect(clashOf(now, then)?.kind ?? null).toBe(kind);
});

import { expect, test } from "vitest";
import { EXAMPLES, exampleFor } from "./examples";

test("an example names a workflow that is there, quoted if it has spaces", () => {
  expect(exampleFor(EXAMPLES[1], "load")).toBe("any run of load fails twice in a row -> group default");
  expect(exampleFor(EXAMPLES[1], "load all")).toContain('"load all" fails');
  expect(exampleFor(EXAMPLES[1], undefined)).toBe(EXAMPLES[1]);
});

import { describe, expect, it } from "vitest";
import { choicesOf, inputOf, type Parameter, parametersOf, valuesGiven } from "./parameters";

const DECLARED = { description: "", required: false } as const;
const SPEC = {
  params: { size: "10", plain: "x", token: "******" },
  declared: {
    size: { ...DECLARED, type: "INTEGER", min: "1", max: "100" },
    day: { ...DECLARED, type: "DATE", required: true, description: "The day to load" },
    region: { ...DECLARED, type: "VARCHAR", enum: ["eu", "us"] },
  },
  secrets: ["token"],
} as const;

function parameter(of: Partial<Parameter>): Parameter {
  const none = { standard: undefined, min: undefined, max: undefined };
  return { name: "x", type: "VARCHAR", choices: [], isRequired: false, description: "", ...none, ...of };
}

describe("the parameters of a workflow", () => {
  const found = parametersOf(structuredClone(SPEC) as unknown as Parameters<typeof parametersOf>[0]);

  it("are all that it names, the required ones first", () => {
    expect(found.map((each) => each.name)).toEqual(["day", "plain", "region", "size", "token"]);
    expect(found[0]).toMatchObject({ type: "DATE", isRequired: true, description: "The day to load" });
  });

  it("do not show what stands for a secret", () => {
    expect(found[4]).toMatchObject({ type: "SECRET", standard: undefined });
  });

  it("are given where they are not the default", () => {
    const typed = { size: "10", plain: "", day: "2026-01-31" };
    expect(valuesGiven(found, typed)).toEqual({ plain: "", day: "2026-01-31" });
  });
});

describe("the field of a parameter", () => {
  it.each([
    [{ type: "SECRET" }, "secret"],
    [{ choices: ["a"] }, "choice"],
    [{ choices: ["a"], standard: "$[yyyy]" }, "text"],
    [{ type: "BOOLEAN" }, "choice"],
    [{ type: "BOOLEAN", standard: "True" }, "yesNo"],
    [{ type: "LONG", standard: "9007199254740993" }, "number"],
    [{ type: "INTEGER", standard: "$[yyyyMMdd]" }, "text"],
    [{ type: "DATE", standard: "2026-01-31" }, "date"],
    [{ type: "DATE", standard: "$[yyyy-MM-dd]" }, "text"],
    [{ type: "TEXT" }, "long"],
    [{ standard: "two\nlines" }, "long"],
    [{}, "text"],
  ] as [Partial<Parameter>, string][])("of %o is %s", (of, input) => {
    expect(inputOf(parameter(of))).toBe(input);
  });

  it("offers the two values of a truth value without a default", () => {
    expect(choicesOf(parameter({ type: "BOOLEAN" }))).toEqual(["true", "false"]);
  });
});

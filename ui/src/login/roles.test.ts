import { describe, expect, it } from "vitest";
import { mayAs } from "./roles";

const base = { is_admin: false, roles: { retail: "OPERATOR" as const } };

describe("mayAs", () => {
  it("gives a role the rights of those before it, in its project only", () => {
    expect(mayAs(base, "VIEWER", "retail")).toBe(true);
    expect(mayAs(base, "OPERATOR", "retail")).toBe(true);
    expect(mayAs(base, "EDITOR", "retail")).toBe(false);
    expect(mayAs(base, "VIEWER", "other")).toBe(false);
  });
  it("asks for any project if none is named", () => {
    expect(mayAs(base, "OPERATOR", null)).toBe(true);
    expect(mayAs(base, "OWNER", null)).toBe(false);
  });
  it("lets an administrator do everything", () => {
    expect(mayAs({ ...base, is_admin: true, roles: {} }, "OWNER", "any")).toBe(true);
  });
});

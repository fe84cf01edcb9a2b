import { describe, expect, it, vi } from "vitest";
import { may } from "./rights";

vi.hoisted(() => vi.stubGlobal("document", { baseURI: "http://shoal/" }));

const ada = { is_admin: false, roles: { retail: "OPERATOR" as const } };

describe("what somebody may do", () => {
  it("is what the role allows and those before it, in its project only", () => {
    expect(may(ada, "VIEWER", "retail")).toBe(true);
    expect(may(ada, "OPERATOR", "retail")).toBe(true);
    expect(may(ada, "EDITOR", "retail")).toBe(false);
    expect(may(ada, "VIEWER", "other")).toBe(false);
    expect(may(ada, "ADMIN", null)).toBe(false);
  });
  it("is asked of any project if none is named", () => {
    expect(may(ada, "OPERATOR", null)).toBe(true);
    expect(may(ada, "OWNER", null)).toBe(false);
  });
  it("is everything for an administrator, but not beyond the projects of a token", () => {
    const admin = { ...ada, is_admin: true };
    expect(may({ ...admin, roles: {} }, "OWNER", "any")).toBe(true);
    expect(may(admin, "ADMIN", null)).toBe(true);
    expect(may({ ...admin, projects: ["retail"] }, "OWNER", "other")).toBe(false);
  });
});

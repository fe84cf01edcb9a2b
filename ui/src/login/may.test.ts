import { expect, test, vi } from "vitest";
import { may } from "./may";
import type { Me } from "./session";

vi.hoisted(() => vi.stubGlobal("document", { baseURI: "http://shoal/" }));

const ada: Me = { kind: "SESSION", name: "ada", is_admin: false, roles: { retail: "OPERATOR" }, rights: [] };

test("a role has the rights of the lower ones, in its project only", () => {
  expect(may(ada, "VIEWER", "retail")).toBe(true);
  expect(may(ada, "OPERATOR", "retail")).toBe(true);
  expect(may(ada, "EDITOR", "retail")).toBe(false);
  expect(may(ada, "VIEWER", "other")).toBe(false);
  expect(may(ada, "OPERATOR", null)).toBe(true);
  expect(may(ada, "ADMIN", null)).toBe(false);
});

test("an admin may everything, but not beyond the projects of a token", () => {
  expect(may({ ...ada, is_admin: true }, "OWNER", "other")).toBe(true);
  expect(may({ ...ada, is_admin: true, projects: ["retail"] }, "OWNER", "other")).toBe(false);
});

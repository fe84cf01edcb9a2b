import { expect, test, vi } from "vitest";
import { ApiProblem } from "@/api/client";
import { faultAt, faultBeside } from "./faults";

vi.hoisted(() => vi.stubGlobal("document", { baseURI: "http://shoal/" }));

test("a fault is shown at its field, and nowhere else", () => {
  const error = new ApiProblem(422, "SH-1010", "A field is wrong", [{ pointer: "/params/day", detail: "too long" }]);
  expect(faultAt(error, "params")).toBe("too long");
  expect(faultAt(error, "param")).toBeUndefined();
  expect(faultBeside(error, "name", "params")).toBeNull();
  expect(faultBeside(error, "name")).toBe(error);
});

test("a sentence that begins with the field is about it", () => {
  const error = new ApiProblem(422, "SH-1007", 'cron "x": no', []);
  expect(faultAt(error, "cron")).toBe('cron "x": no');
  expect(faultAt(null, "cron")).toBeUndefined();
});

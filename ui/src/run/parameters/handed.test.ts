import { expect, it } from "vitest";
import { handedOf } from "./handed";

it("a value stands for a file that a task handed on", () => {
  const value = { shoal_file: "20260131/1/2/3.0.file", name: "a.csv", size: 7, sha256: "0", task: "load" };
  expect(handedOf(JSON.stringify(value))).toEqual({ name: "a.csv", size: 7 });
});

it("other values stand for themselves", () => {
  for (const value of ["", '{"name": "a", "size": 1}', '{"shoal_file":', '{"shoal_file": "x", "name": "a"}'])
    expect(handedOf(value)).toBeNull();
});

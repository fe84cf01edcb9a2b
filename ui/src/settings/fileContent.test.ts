import { expect, test } from "vitest";
import { base64Of, bytesOf } from "./fileContent";

test("every byte of a file comes back, read in several parts", async () => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, place) => place % 251);
  expect(Buffer.compare(bytesOf(await base64Of(new Blob([bytes]))), bytes)).toBe(0);
  expect(await base64Of(new Blob([]))).toBe("");
});

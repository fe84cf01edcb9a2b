import { QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { Queries } from "./firstRead";

test("what changes during its first read is read again, once", async () => {
  const queries = new Queries();
  const answers: ((answer: string) => void)[] = [];
  const observer = new QueryObserver(queries, {
    queryKey: ["why", "7"],
    queryFn: () => new Promise<string>((resolve) => answers.push(resolve)),
  });
  const end = observer.subscribe(() => undefined);
  expect(answers.length).toBe(1);
  void queries.invalidateQueries({ queryKey: ["why"] });
  void queries.invalidateQueries({ queryKey: ["why"] });
  answers[0]?.("old");
  await expect.poll(() => answers.length).toBe(2);
  answers[1]?.("new");
  await expect.poll(() => observer.getCurrentResult().data).toBe("new");
  expect(answers.length).toBe(2);
  expect(observer.getCurrentResult().isFetching).toBe(false);
  end();
});

import { expect, test } from "vitest";
import { asFive, asQuartz, choicesOf, isRepeating, ruleOf, USUAL } from "./cron";

test.each([
  ["0 5 * * *", "0 0 5 * * ?"],
  ["*/10 * * * *", "0 */10 * * * ?"],
  ["0 6 * * 1-5", "0 0 6 ? * 2-6"],
  ["0 6 * * 0,7", "0 0 6 ? * 1,1"],
  ["0 6 * * 5-7", "0 0 6 ? * 6,7,1"],
  ["0 6 * * FRI", "0 0 6 ? * 6"],
  ["0 6 1 * *", "0 0 6 1 * ?"],
  ["@weekly", "0 0 0 ? * 1"],
])("%s is %s in Quartz", (five, quartz) => {
  expect(asQuartz(five)).toBe(quartz);
});

test.each([
  ["0 0 5 * * ?", "0 5 * * *"],
  ["0 0/30 8-18 * * ?", "*/30 8-18 * * *"],
  ["0 0 6 ? * 2-6", "0 6 * * 1-5"],
  ["0 0 6 ? * MON", "0 6 * * 1"],
  ["0 0 6 1 * ?", "0 6 1 * *"],
])("%s is %s with five fields", (quartz, five) => {
  expect(asFive(quartz)).toEqual({ five });
});

test.each([
  ["30 0 5 * * ?", "seconds"],
  ["0 0 5 * * ? 2027", "year"],
  ["0 0 5 L * ?", "signs"],
  ["0 0 5 ? * 6#3", "signs"],
  ["0 0", "fields"],
])("%s has no five fields: %s", (quartz, why) => {
  expect(asFive(quartz)).toEqual({ why });
});

test.each([
  "0 0/15 * * * ?",
  "0 30 * * * ?",
  "0 10 0/6 * * ?",
  "0 0 5 * * ?",
  "0 30 7 ? * 2-6",
  "0 0 9 ? * 1,4",
  "0 0 0 L * ?",
])("%s is said by choices and back", (quartz) => {
  const choices = choicesOf(quartz);
  expect(choices && ruleOf(choices)).toBe(quartz);
});

test("what says more than choices can has none", () => {
  for (const rule of ["0 0/30 8-18 * * ?", "5 0 5 * * ?", "0 0 5 ? * 6#3", "0 0 5 1 1 ?", "x"])
    expect(choicesOf(rule)).toBeNull();
  expect(ruleOf({ ...USUAL, unit: "weeks", weekdays: [] })).toBe("0 0 5 ? * *");
});

test("only a rule with signs for each second, minute or hour repeats", () => {
  expect(isRepeating("0 2 * * *")).toBe(false);
  expect(isRepeating("0 0/30 1-2 * * ?")).toBe(true);
  expect(isRepeating("@hourly")).toBe(true);
});

import { beforeEach, expect, test, vi } from "vitest";

/** A log of lines of ten bytes, of which the oldest were discarded; those of a part are one line. */
const log = { start: 0, size: 1_000_000, long: [0, 0] };
const asked: string[] = [];

function line(at: number): string {
  return `${String(at / 10).padStart(9, "0")}\n`;
}

function text(from: number, to: number): string {
  const begin = from - (from % 10);
  let all = "";
  for (let at = begin; at < to; at += 10) all += line(at);
  const [first = 0, last = 0] = log.long.map((at) => Math.max(0, at - begin));
  const middle = all.slice(first, last).replaceAll("\n", "-");
  return (all.slice(0, first) + middle + all.slice(last)).slice(from - begin, to - begin);
}

interface Asked {
  query?: { offset: number; limit: number };
  header?: { Range: string };
}

function answer(path: string, { query, header }: Asked) {
  if (path.endsWith(":search")) {
    asked.push("count");
    return { lines: 0, searched_to: 0 };
  }
  const headers = new Headers({
    "X-Shoal-Log-Size": String(log.size),
    "X-Shoal-Log-First": String(log.start),
    "X-Shoal-Log-Complete": "false",
  });
  const suffix = /bytes=-(\d+)/.exec(header?.Range ?? "");
  const offset = suffix === null ? (query?.offset ?? 0) : log.size - Number(suffix[1]);
  const to = suffix === null ? Math.min(offset + (query?.limit ?? 0), log.size) : log.size;
  const from = Math.max(offset, log.start);
  if (suffix !== null) headers.set("Content-Range", `bytes ${from}-${to - 1}/*`);
  const data = new TextEncoder().encode(to > from ? text(from, to) : "").buffer;
  return { data, response: { headers } };
}

vi.mock("@/api/client", () => {
  class ApiProblem extends Error {}
  const api = { GET: async (path: string, { params }: { params: Asked }) => answer(path, params) };
  return { ROOT: "/", ApiProblem, api, answers: api };
});

const { LogReader } = await import("./reader");

beforeEach(() => {
  Object.assign(log, { start: 0, size: 1_000_000, long: [0, 0] });
  asked.length = 0;
});

test("a log whose oldest part was discarded begins with its first line that is left", async () => {
  log.start = 700_000;
  const reader = new LogReader("1", (bytes) => `${bytes} missed`);
  await reader.open(null);
  expect(reader.hasEarlier).toBe(true);
  for (let turn = 0; turn < 100 && reader.hasEarlier; turn++) await reader.earlier();
  expect(reader.from).toBe(700_000);
  expect(reader.lines).toHaveLength(30_000);
  expect(reader.lines.every((each, place) => each.at === 700_000 + 10 * place)).toBe(true);
  expect(reader.lines[0]?.text).toBe("000070000");
  expect(asked).toEqual([]);
  expect(reader.first).toBe(null);
});

test("the start of a log is where it begins by now, also if that has moved since", async () => {
  const reader = new LogReader("1", (bytes) => `${bytes} missed`);
  await reader.open(null);
  Object.assign(log, { start: 2_000_000, size: 3_000_000 });
  await reader.open(0);
  expect(reader.lines[0]).toMatchObject({ at: 2_000_000, text: "000200000" });
  Object.assign(log, { start: 2_900_000, size: 4_000_000 });
  await reader.later();
  expect(reader.lines.map((each) => each.at)).toEqual([...reader.lines.map((each) => each.at)].sort((a, b) => a - b));
  expect(reader.lines.every((each) => each.text === line(each.at).trimEnd())).toBe(true);
});

test("bytes that were discarded before a follower read them are shown as one line", async () => {
  const heard = new Map<string, (event: object) => void>();
  vi.stubGlobal(
    "EventSource",
    class {
      addEventListener = (kind: string, hear: (event: object) => void) => heard.set(kind, hear);
      close = () => {};
      set onmessage(hear: (event: object) => void) {
        heard.set("message", hear);
      }
    },
  );
  Object.assign(log, { start: 0, size: 100 });
  const reader = new LogReader("1", (bytes) => `${bytes} missed`);
  await reader.open(null);
  reader.follow();
  heard.get("message")?.({ data: "half", lastEventId: "104" });
  heard.get("missed")?.({ data: "896", lastEventId: "1000" });
  heard.get("message")?.({ data: "next\n", lastEventId: "1006" }); // its line ended in CR LF
  expect(reader.lines.slice(-3)).toMatchObject([
    { at: 100, bytes: 4, text: "half", isWhole: true },
    { at: 104, bytes: 896, text: "896 missed", isWhole: true },
    { text: "next", isWhole: true },
  ]);
  expect([reader.first, reader.to]).toEqual([null, 1006]);
  vi.unstubAllGlobals();
});

test("what is before and behind a line that is longer than what is read at once can be reached", async () => {
  Object.assign(log, { size: 3_000_000, long: [100_000, 2_900_000] });
  for (const from of [0, 1_500_000, null]) {
    const reader = new LogReader("1", (bytes) => `${bytes} missed`);
    await reader.open(from);
    for (let turn = 0; turn < 40 && reader.hasLater; turn++) await reader.later();
    expect(reader.to).toBe(3_000_000);
    expect(reader.lines.at(-1)?.text).toBe("000299999");
    for (let turn = 0; turn < 40 && reader.hasEarlier; turn++) await reader.earlier();
    expect(reader.from).toBe(0);
    expect(reader.lines[0]?.text).toBe("000000000");
    const bytes = reader.lines.map((line) => line.bytes);
    expect(Math.max(...bytes)).toBeGreaterThanOrEqual(2_000_000);
  }
});

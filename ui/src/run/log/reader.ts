/**
 * Reads the log of an attempt in slices: the end first, or around a line, and more while a reader scrolls. It never has
 * the whole of a long log; what is far from where the reader is, is given back.
 */
import { ApiProblem, answers, api, ROOT } from "@/api/client";
import { joined, type Line, linesOf } from "./lines";

const SLICE = 1 << 18;
const BEFORE = 1 << 16;
export const LINES_MAX = 40_000;
/** Lines of longer logs are not counted, so that they have no numbers. */
const COUNTED_BYTES_MAX = 1 << 28;

export class LogReader {
  lines: Line[] = [];
  /** The first and the last byte of `lines`. */
  from = 0;
  to = 0;
  size = 0;
  /** Where the log begins now: the oldest part of a long one is discarded. */
  start = 0;
  /** The number of the first line of `lines`, from 0; null = not counted. */
  first: number | null = null;
  isComplete = false;
  isFollowing = false;
  problem: Error | null = null;
  isRead = false;
  /** Where the last part was opened, a new object each time; null = at the end of the log. */
  aim: { at: number | null } = { at: null };
  version = 0;
  private readonly listeners = new Set<() => void>();
  private reading: Promise<void> | null = null;
  private source: EventSource | null = null;
  private isClosed = false;

  /** `missed` names the bytes that were discarded before they were read. */
  constructor(
    readonly attempt: string,
    private readonly missed: (bytes: number) => string,
  ) {}

  subscribe = (changed: () => void): (() => void) => {
    this.listeners.add(changed);
    return () => this.listeners.delete(changed);
  };

  get hasEarlier(): boolean {
    return this.from > this.start;
  }

  get hasLater(): boolean {
    return this.to < this.size;
  }

  /** Begin at a byte at which a line begins; without one at the end. */
  async open(at: number | null): Promise<void> {
    // What is read now is another part, and must not be taken for this one.
    while (this.reading !== null) await this.reading;
    return this.alone(async () => {
      let found = at === null ? await this.end() : await this.slice(Math.max(this.start, at - BEFORE), SLICE);
      if (found.bytes.length === 0 && this.start > 0) found = await this.slice(this.start, SLICE);
      const isEnd = found.from + found.bytes.length >= found.size;
      const lines = linesOf(found.bytes, found.from, found.from > this.start, isEnd);
      this.aim = { at };
      this.lines = lines;
      this.from = lines[0]?.at ?? found.from;
      this.to = endOf(lines, this.from);
      this.size = found.size;
      this.isComplete = found.isComplete;
      this.first = this.from === 0 ? 0 : null;
      if (this.first === null && this.start === 0) void this.count(this.from);
    });
  }

  earlier(): Promise<void> {
    if (!this.hasEarlier) return Promise.resolve();
    return this.alone(async () => {
      const before = Math.max(this.start, this.from - SLICE);
      const { bytes, from } = await this.slice(before, this.from - before);
      const lines = linesOf(bytes, from, from > this.start, true);
      if (this.first !== null) this.first -= lines.length;
      const [last, [next]] = [lines.at(-1), this.lines];
      const isPart = last !== undefined && !last.isWhole && next !== undefined;
      this.lines = isPart
        ? [...lines.slice(0, -1), joined(last, next), ...this.lines.slice(1)]
        : [...lines, ...this.lines];
      this.lines = this.lines.slice(0, LINES_MAX);
      this.from = this.lines[0]?.at ?? from;
      this.to = endOf(this.lines, this.from);
    });
  }

  later(): Promise<void> {
    if (!this.hasLater) return Promise.resolve();
    return this.alone(async () => {
      let found = await this.slice(this.to, SLICE);
      if (this.start > this.to) {
        // What follows was discarded meanwhile.
        found = await this.slice(this.start, SLICE);
        this.lines = [];
        this.first = null;
      }
      this.append(linesOf(found.bytes, found.from, false, found.from + found.bytes.length >= found.size));
      this.size = found.size;
      this.isComplete = found.isComplete;
    });
  }

  /** Have what is written from now on come by itself, until the attempt ends. */
  follow(): void {
    if (this.source !== null || this.isComplete || this.isClosed) return;
    const source = new EventSource(`${ROOT}api/v1/task-instances/${this.attempt}/log?follow=true&offset=${this.to}`);
    this.source = source;
    this.isFollowing = true;
    source.onmessage = (event) => {
      const bytes = new TextEncoder().encode(event.data);
      const end = Number(event.lastEventId);
      this.append(linesOf(bytes, end - bytes.length, false, true));
      this.size = Math.max(this.size, end);
      this.to = end;
      this.isRead = true;
      this.problem = null;
      this.tell();
    };
    source.addEventListener("missed", (event) => {
      const { data, lastEventId } = event as MessageEvent<string>;
      this.skip(Number(data), Number(lastEventId));
    });
    source.addEventListener("end", () => {
      this.isComplete = true;
      this.unfollow();
    });
    source.addEventListener("problem", (event) => {
      this.problem = new ApiProblem(503, "", (event as MessageEvent<string>).data);
      this.unfollow();
    });
    this.tell();
  }

  unfollow(): void {
    this.source?.close();
    this.source = null;
    this.isFollowing = false;
    this.tell();
  }

  close(): void {
    this.isClosed = true;
    this.unfollow();
    this.listeners.clear();
  }

  /** Go on at a later byte, with a line for what is missing. A line that had only begun ends there. */
  private skip(bytes: number, to: number): void {
    const last = this.lines.at(-1);
    if (last !== undefined) this.lines = [...this.lines.slice(0, -1), { ...last, isWhole: true }];
    this.append([{ at: to - bytes, bytes, text: this.missed(bytes), isWhole: true }]);
    this.first = null;
    this.tell();
  }

  private append(lines: Line[]): void {
    const last = this.lines.at(-1);
    // The rest of a line whose begin was there already.
    if (last !== undefined && !last.isWhole && lines[0] !== undefined) {
      this.lines = [...this.lines.slice(0, -1), joined(last, lines[0]), ...lines.slice(1)];
    } else this.lines = [...this.lines, ...lines];
    const over = this.lines.length - LINES_MAX;
    if (over > 0) {
      this.lines = this.lines.slice(over);
      if (this.first !== null) this.first += over;
    }
    this.from = this.lines[0]?.at ?? this.from;
    this.to = endOf(this.lines, this.to);
  }

  private async count(upTo: number): Promise<void> {
    if (upTo > COUNTED_BYTES_MAX) return;
    let lines = 0;
    for (let offset = 0; offset < upTo; ) {
      const found = await searchLog(this.attempt, { offset, until: upTo }).catch(() => null);
      if (found === null || this.isClosed || this.from !== upTo) return;
      lines += found.lines;
      if (found.searched_to <= offset) break;
      offset = found.searched_to;
    }
    this.first = lines;
    this.tell();
  }

  private async end() {
    try {
      return await this.ask({ header: { Range: `bytes=-${BEFORE}` } });
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 416)
        return { bytes: new Uint8Array(), from: 0, size: 0, isComplete: false };
      throw error;
    }
  }

  private slice(offset: number, limit: number) {
    return this.ask({ query: { offset, limit } }, offset);
  }

  private async ask(params: { header?: { Range: string }; query?: { offset: number; limit: number } }, from = 0) {
    const { data, response } = await answers.GET("/api/v1/task-instances/{id}/log", {
      params: { path: { id: this.attempt }, ...params },
      parseAs: "arrayBuffer",
    });
    this.start = Number(response.headers.get("X-Shoal-Log-First") ?? 0);
    const range = /^bytes (\d+)-/.exec(response.headers.get("Content-Range") ?? "");
    return {
      bytes: new Uint8Array(data as ArrayBuffer),
      from: range === null ? Math.max(from, this.start) : Number(range[1]),
      size: Number(response.headers.get("X-Shoal-Log-Size")),
      isComplete: response.headers.get("X-Shoal-Log-Complete") === "true",
    };
  }

  /** One request at a time: a second one would ask for the same. */
  private alone(read: () => Promise<void>): Promise<void> {
    this.reading ??= read()
      .then(
        () => {
          this.problem = null;
        },
        (error: Error) => {
          this.problem = error;
          // A task that wrote nothing has no file.
          this.isComplete ||= error instanceof ApiProblem && error.status === 404;
        },
      )
      .finally(() => {
        this.reading = null;
        this.isRead = true;
        this.tell();
      });
    return this.reading;
  }

  private tell(): void {
    this.version++;
    for (const changed of this.listeners) changed();
  }
}

function endOf(lines: Line[], none: number): number {
  const last = lines.at(-1);
  return last === undefined ? none : last.at + last.bytes;
}

interface Sought {
  text?: string;
  errors?: boolean;
  offset?: number;
  until?: number;
  limit?: number;
}

/** One part of a search in a log; the server says how far it got. */
export function searchLog(attempt: string, query: Sought) {
  return api.GET("/api/v1/task-instances/{id}/log:search", { params: { path: { id: attempt }, query } });
}

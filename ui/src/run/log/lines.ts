/** Lines of a log, with the bytes at which they begin: those are what links name. */
export interface Line {
  at: number;
  /** How many bytes it has, with its line end. */
  bytes: number;
  text: string;
  /** It has its line end. */
  isWhole: boolean;
}

const LF = 10;
const decoder = new TextDecoder();

/** A longer line is shown up to here; its bytes are counted all the same. */
export const LINE_LENGTH_MAX = 1 << 16;

/** The lines of bytes that begin at `at`. `isCut`: the first is the rest of a line, and is left out, unless
 * it is all that there is. `isEnd`: nothing follows, so that a line without an end is one too. */
export function linesOf(bytes: Uint8Array, at: number, isCut: boolean, isEnd: boolean): Line[] {
  const lines: Line[] = [];
  const cut = isCut ? bytes.indexOf(LF) + 1 : 0;
  let begin = cut < bytes.length ? cut : 0;
  while (begin < bytes.length) {
    const end = bytes.indexOf(LF, begin);
    if (end < 0 && !isEnd && lines.length > 0) break;
    const next = end < 0 ? bytes.length : end + 1;
    const text = decoder.decode(bytes.subarray(begin, end < 0 ? next : end)).replace(/\r$/, "");
    lines.push({
      at: at + begin,
      bytes: next - begin,
      text: text.slice(text.lastIndexOf("\r") + 1),
      isWhole: end >= 0,
    });
    begin = next;
  }
  return lines;
}

/** A line of which the first part was there, with the next one. */
export function joined(begin: Line, rest: Line): Line {
  const text = (begin.text + rest.text).slice(0, LINE_LENGTH_MAX);
  return { at: begin.at, bytes: begin.bytes + rest.bytes, text, isWhole: rest.isWhole };
}

/** A row of the screen: a line, or with wrapped lines a part of one. */
export interface Row {
  line: Line;
  /** The place of the line among those that are there. */
  place: number;
  /** The first character of this row. */
  from: number;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the marks of colours begin with one
const ANSI = /\u001b\[[0-9;?]*[A-Za-z]/g;

/** The text of a line without marks of colours. */
export function plain(text: string): string {
  return text.replace(ANSI, "");
}

/** The rows of these lines, of so many characters each; `columns` null = a row is a line. All have one height. */
export function rowsOf(lines: Line[], columns: number | null): Row[] {
  if (columns === null) return lines.map((line, place) => ({ line, place, from: 0 }));
  return lines.flatMap((line, place) => {
    const length = line.text.length > columns ? plain(line.text).length : 1;
    return Array.from({ length: Math.max(1, Math.ceil(length / columns)) }, (_, part) => ({
      line,
      place,
      from: part * columns,
    }));
  });
}

const ERROR = /(?<![a-z])(?:error|fatal|critical|exception|traceback|panic)(?![a-z])|(?:error|exception):/i;

/** Whether a line looks like an error: the server's search for errors has the same words. */
export function isError(text: string): boolean {
  return ERROR.test(text) || text.includes("\u001b[31m") || text.includes("\u001b[1;31m");
}

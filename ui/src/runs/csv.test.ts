import { describe, expect, it } from "vitest";
import { csvOf } from "./csv";

describe("runs as a table", () => {
  it("have a column for each field, and texts in quotes where they must be", () => {
    const rows = [
      { id: "1", reason: 'says "no", and\nends' },
      { id: "2", took_s: 1.5, is_child: false, params: { a: 1 } },
    ];
    expect(csvOf(rows)).toBe(
      'id,reason,took_s,is_child,params\r\n1,"says ""no"", and\nends",,,\r\n2,,1.5,false,"{""a"":1}"\r\n',
    );
  });
  it("hold nothing that a spreadsheet would compute", () => {
    expect(csvOf([{ q: "=1+1" }, { q: "-x" }, { q: -1 }])).toBe("q\r\n'=1+1\r\n'-x\r\n-1\r\n");
  });
  it("are an empty line without any", () => expect(csvOf([])).toBe("\r\n"));
});

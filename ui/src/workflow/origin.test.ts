import { describe, expect, it } from "vitest";
import { originOf } from "./origin";

const MARK = "# shoal workflow sync: origin sdk:shop, commit 0123456789abcdef, version 3\nname: daily\n";

describe("originOf", () => {
  it("is that of the version alone that came from there", () => {
    expect(originOf(MARK, 3)).toEqual({ origin: "sdk:shop", commit: "0123456789" });
    expect(originOf(MARK, 4)).toBeNull();
    expect(originOf("# shoal workflow sync: origin flows, version 1\nname: a\n", 1)).toEqual({
      origin: "flows",
      commit: "",
    });
    expect(originOf("name: daily\n", 3)).toBeNull();
  });
});

import { describe, expect, it } from "vitest";
import { copied } from "./copied";

const TEXT =
  "name: daily\nproject: shop\nschedules:\n  - cron: 0 5 * * *\n  - {cron: 0 6 * * *, state: ONLINE}\ntasks: []\n";

describe("copied", () => {
  it("has another name and project, and no schedule that fires", () => {
    expect(copied(TEXT, "lab", "weekly")).toBe(
      "name: weekly\nproject: lab\nschedules:\n  - cron: 0 5 * * *\n    state: OFFLINE\n" +
        "  - { cron: 0 6 * * *, state: OFFLINE }\ntasks: []\n",
    );
    expect(copied(TEXT, "default", "daily")).not.toContain("project");
    expect(copied("name: a\ntasks: []\n", "lab", "a")).toBe("name: a\ntasks: []\nproject: lab\n");
  });
});

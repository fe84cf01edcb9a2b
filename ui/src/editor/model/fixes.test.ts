import { describe, expect, it } from "vitest";
import { fixesOf } from "./fixes";
import { read } from "./read";

const TEXT = `# what it is for
name: w
tasks:
  # first
  - name: load # by hand
    type: SHELL
    after: [chek, check, report]
    params:
      script: |
        echo \${dy} $\${dy} \${dy} $$\${dy}
  - {name: check, type: SHEL, after: load}
  - {name: report, type: FAKE, after: [check]}
`;

function fixed(sentence: string, place = 0): string {
  const { graph } = read(TEXT);
  if (graph === null) throw new Error("unreadable");
  const found = fixesOf({ sentence, line: null, isWarning: false, task: null }, graph)[place];
  if (found === undefined) throw new Error(`nothing fixes: ${sentence}`);
  return found.apply(TEXT);
}

/** The lines that an edit changed, as they are now. */
function changed(text: string): string[] {
  const before = TEXT.split("\n");
  return text.split("\n").filter((line) => !before.includes(line));
}

describe("the ways out of a problem", () => {
  it("name the nearest parameter, or make one", () => {
    const sentence = `task "load": \${dy} is no parameter of the workflow; did you mean \${day}?`;
    expect(changed(fixed(sentence))).toEqual([`        echo \${day} $\${dy} \${day} $$\${day}`]);
    expect(fixed(sentence, 1)).toContain('params:\n  dy: ""\ntasks:');
  });
  it("name the nearest task, or wait for none", () => {
    const sentence = 'task "load" waits for "chek", which does not exist; did you mean "check"?';
    expect(changed(fixed(sentence))).toEqual(["    after: [check, report]"]);
    expect(changed(fixed(sentence, 1))).toEqual(["    after: [check, report]"]);
    expect(changed(fixed('task "load" waits for "chek", which does not exist; add that task or remove it'))).toEqual([
      "    after: [check, report]",
    ]);
  });
  it("remove any arrow of a ring", () => {
    const sentence = "tasks wait for each other in a circle: load -> check -> load; remove one of these arrows";
    expect(changed(fixed(sentence))).toEqual(["  - {name: check, type: SHEL}"]);
    expect(changed(fixed(sentence, 1))).toEqual(["    after: [chek, report]"]);
  });
  it("take the type or the field that is meant", () => {
    expect(changed(fixed('task "check": there is no task type "SHEL"; did you mean SHELL?'))).toEqual([
      "  - {name: check, type: SHELL, after: load}",
    ]);
    expect(changed(fixed('task "report": there is no field "after", did you mean "delay_time"?'))).toEqual([
      "  - {name: report, type: FAKE, delay_time: [check]}",
    ]);
    expect(fixed('there is no field "tasks", did you mean "task"?')).toContain("\ntask:\n");
  });
  it("are none where the sentence says none", () => {
    const { graph } = read(TEXT);
    const problem = { sentence: "something else", line: 1, isWarning: false, task: null };
    expect(graph === null ? null : fixesOf(problem, graph)).toEqual([]);
  });
});

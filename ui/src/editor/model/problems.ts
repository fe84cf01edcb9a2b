/** Which task a problem is about: the one on whose lines it is, else the one that its sentence names. */
import type { Graph } from "./read";

export interface Problem {
  line: number | null;
  sentence: string;
  isWarning: boolean;
  task: string | null;
}

export interface Said {
  line?: number | null;
  sentence: string;
}

/** The problems of a check, with the task of each. */
export function problemsOf(graph: Graph | null, problems: readonly Said[], warnings: readonly Said[]): Problem[] {
  const of = (said: Said, isWarning: boolean): Problem => ({
    line: said.line ?? null,
    sentence: said.sentence,
    isWarning,
    task: graph === null ? null : taskOf(graph, said),
  });
  return [...problems.map((each) => of(each, false)), ...warnings.map((each) => of(each, true))];
}

function taskOf(graph: Graph, { line, sentence }: Said): string | null {
  const at = graph.tasks.find((task) => line != null && line >= task.line && line <= task.lastLine);
  if (at !== undefined) return at.name;
  const named = graph.tasks.find((task) => sentence.includes(`"${task.name}"`));
  return named?.name ?? null;
}

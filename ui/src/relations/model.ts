/** Relations between workflows as a graph: an arrow points from what must end or start first. */
import type { Schemas } from "@/api/client";

export type Relation = Schemas["RelationAnswer"];

export interface Workflow {
  /** `project/name`. */
  key: string;
  project: string;
  name: string;
  /** Whether there is such a workflow. */
  isThere: boolean;
}

export interface Arrow {
  key: string;
  from: string;
  to: string;
  type: Relation["type"];
  /** The tasks that make the relation; none of a TRIGGER. */
  tasks: string[];
}

export interface RelationGraph {
  workflows: Workflow[];
  arrows: Arrow[];
}

/** A workflow starts another (SUB_PROCESS, DYNAMIC; TRIGGER by its end), or feeds one that waits for it (DEPENDENT). */
export function graphOf(relations: readonly Relation[]): RelationGraph {
  const workflows = new Map<string, Workflow>();
  const arrows = new Map<string, Arrow>();
  const keyOf = ({ code, project, name }: Relation["workflow"]): string => {
    const key = `${project}/${name}`;
    workflows.set(key, { key, project, name, isThere: code != null });
    return key;
  };
  for (const { workflow, refers_to, task, type } of relations) {
    const [own, other] = [keyOf(workflow), keyOf(refers_to)];
    const [from, to] = type === "DEPENDENT" || type === "TRIGGER" ? [other, own] : [own, other];
    const key = `${from} ${type} ${to}`;
    const known = arrows.get(key);
    if (known === undefined) arrows.set(key, { key, from, to, type, tasks: task ? [task] : [] });
    else if (task) known.tasks.push(task);
  }
  return { workflows: [...workflows.values()], arrows: [...arrows.values()] };
}

/** What leads to a workflow and what it leads to, over any number of steps. */
export function connected(graph: RelationGraph, key: string): RelationGraph {
  const reached = new Set([...reach(graph, key, "from", "to"), ...reach(graph, key, "to", "from")]);
  return {
    workflows: graph.workflows.filter((each) => reached.has(each.key)),
    arrows: graph.arrows.filter((each) => reached.has(each.from) && reached.has(each.to)),
  };
}

function reach(graph: RelationGraph, start: string, near: "from" | "to", far: "from" | "to"): Set<string> {
  const found = new Set([start]);
  const waiting = [start];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
    for (const arrow of graph.arrows)
      if (arrow[near] === at && !found.has(arrow[far])) {
        found.add(arrow[far]);
        waiting.push(arrow[far]);
      }
  return found;
}

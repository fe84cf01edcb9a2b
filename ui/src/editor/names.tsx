/** The names that a field may have, where its schema does not say them: of tasks, workflows, their parameters. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { specOf } from "@/run/queries";
import { projectNames } from "@/settings/queries";
import { choicesOf, inputOf, type Parameter, parametersOf } from "@/start/parameters";
import { type Field, plainField } from "./model/fields";
import type { Graph, Task } from "./model/read";
import { poolNames, workflowsOf } from "./queries";

/** `next`: the other tasks of the workflow. `tasks`, `parameters`: those of the workflow that stands beside the field. */
type Source = "next" | "before" | "workflows" | "projects" | "tasks" | "parameters" | "pools";

/** By the task's type and the field's name, or by the field's name alone. */
const SOURCES: Record<string, Source> = {
  "CONDITIONS.on_failure": "next",
  "CONDITIONS.on_success": "next",
  "CONDITIONS.task": "before",
  "CONDITIONS.when": "before",
  "DEPENDENT.task": "tasks",
  "DYNAMIC.name": "parameters",
  "SUB_PROCESS.params": "parameters",
  "SWITCH.default": "next",
  "SWITCH.then": "next",
  project: "projects",
  resources: "pools",
  workflow: "workflows",
};

export interface Around {
  /** The type of the task; "" for the workflow itself. */
  type: string;
  task: Task | null;
  graph: Graph;
  /** The names of things of one kind, by the fields that name them. */
  known: Record<string, string[]>;
}

export interface Names {
  names: string[];
  /** Whether there can be no others. */
  isClosed?: boolean;
  /** Those of a mapping that it should have. */
  fields?: Field[];
}

interface Props extends Around {
  name: string;
  /** The values beside the field, and around them. */
  values: Record<string, unknown>;
  children: (found: Names) => ReactNode;
}

/** Gives its child the names for a field. */
export function WithNames({ name, values, children, ...around }: Props) {
  const { type, task, graph, known } = around;
  const source = SOURCES[`${type}.${name}`] ?? SOURCES[name];
  if (source === undefined) return children({ names: known[name] ?? [] });
  if (source === "before") return children({ names: task?.after ?? [], isClosed: true });
  if (source === "next") {
    const names = graph.tasks.flatMap((each) => (each.name === task?.name ? [] : each.name));
    return children({ names, isClosed: true });
  }
  const project = typeof values.project === "string" && values.project !== "" ? values.project : graph.project;
  if (source === "projects" || source === "pools") return <Listed source={source}>{children}</Listed>;
  return (
    <OfWorkflow source={source} project={project} workflow={values.workflow}>
      {children}
    </OfWorkflow>
  );
}

function Listed({ source, children }: { source: "projects" | "pools" } & Pick<Props, "children">) {
  const projects = useQuery({ ...projectNames, enabled: source === "projects" });
  const pools = useQuery({ ...poolNames, enabled: source === "pools" });
  return children({ names: projects.data ?? pools.data?.items.map((each) => each.name) ?? [] });
}

interface OfWorkflowProps extends Pick<Props, "children"> {
  source: Source;
  project: string;
  /** Its name or code. */
  workflow: unknown;
}

function OfWorkflow({ source, project, workflow, children }: OfWorkflowProps) {
  const workflows = useQuery(workflowsOf(project)).data?.items ?? [];
  const code = workflows.find((each) => each.name === workflow || each.code === String(workflow))?.code ?? "";
  const content = useQuery({ ...specOf(code, undefined), enabled: code !== "" && source !== "workflows" });
  if (source === "workflows") return children({ names: workflows.map((each) => each.name) });
  const spec = content.data?.spec;
  if (source === "tasks") return children({ names: ["*", ...(spec?.tasks?.map((each) => each.name) ?? [])] });
  const fields = spec === undefined ? [] : parametersOf(spec).map(fieldOf);
  return children({ names: fields.map((each) => each.name), fields });
}

/** The field of a parameter. A reference such as ${day} may stand for its value, so that a choice is a suggestion. */
function fieldOf(parameter: Parameter): Field {
  const { name, isRequired, standard, description } = parameter;
  const input = inputOf(parameter);
  const kind = input === "number" ? "number" : input === "long" ? "code" : "text";
  return { ...plainField(name, kind), isRequired, standard, description, choices: choicesOf(parameter) };
}

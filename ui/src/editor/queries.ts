/** What the editor reads and saves: a workflow's published text, and the draft of who is logged in. */
import { api, match, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { asked } from "@/api/reads";
import { may } from "@/login/rights";
import { me } from "@/login/session";

export type Head = Schemas["WorkflowAnswer"];
export type Draft = Schemas["DraftContent"];

/** More than a person can have. */
const DRAFTS_MAX = 1000;

export interface Source {
  /** The published workflow; null = there is none yet. */
  head: Head | null;
  /** Its text with its layout; "" without a published one. */
  published: string;
  /** The caller's own draft; null = there is none, or the caller may not write one. */
  draft: Draft | null;
}

/** Everything of a workflow that the editor begins with. */
export function sourceOf(project: string, name: string) {
  return {
    queryKey: ["workflow", project, name, "source"],
    queryFn: async (): Promise<Source> => {
      const draft = await findDraft(project, name);
      if (draft !== null && draft.code == null) return { head: null, published: "", draft };
      const head = await api.GET("/api/v1/workflow-definitions:find", { params: { query: { project, name } } });
      return { head, published: (await exported(head.code)).yaml, draft };
    },
  };
}

/** The caller's draft, if there is one: it is looked for in the list, since to ask for none is an error. */
async function findDraft(project: string, name: string): Promise<Draft | null> {
  if (!may(await queries.ensureQueryData(me), "EDITOR", project)) return null;
  const query = { project, limit: DRAFTS_MAX };
  const { items } = await api.GET("/api/v1/workflow-drafts", { params: { query } });
  if (!items.some((each) => each.project === project && each.name === name)) return null;
  return api.GET("/api/v1/workflow-drafts/{project}/{name}", { params: { path: { project, name } } });
}

/** The text of a version, with where its tasks stand; `canonical`: made from what it does, without comments. */
export function exported(code: string, version?: number, canonical = false): Promise<Schemas["ExportAnswer"]> {
  const query = { layout: true, canonical, ...(version !== undefined && { version }) };
  return api.GET("/api/v1/workflow-definitions/{code}/export", { params: { path: { code }, query } });
}

/** Save a draft; `revision` is the one that was read, undefined for a new draft. */
export function saveDraft(
  project: string,
  name: string,
  content: string,
  revision: number | undefined,
  base?: number,
): Promise<Schemas["DraftAnswer"]> {
  return api.PUT("/api/v1/workflow-drafts/{project}/{name}", {
    params: { path: { project, name }, header: match(revision) },
    body: { content, ...(base !== undefined && { base_version: base }) },
  });
}

export const taskTypes = {
  queryKey: ["task-types"],
  queryFn: () => api.GET("/api/v1/task-types"),
  staleTime: 600_000,
};

export const workflowSchema = {
  queryKey: ["workflow-schema"],
  queryFn: () => api.GET("/api/v1/schema/workflow"),
  staleTime: 600_000,
};

export const workerGroups = {
  queryKey: ["worker-groups"],
  queryFn: () => api.GET("/api/v1/worker-groups"),
  staleTime: 30_000,
};

export const environments = asked(["environments"], () => api.GET("/api/v1/environments"));

export const dataSources = asked(["data-sources"], () => api.GET("/api/v1/data-sources"));

export const poolNames = asked(["pools", "names"], () =>
  api.GET("/api/v1/resource-pools", { params: { query: { limit: 1000 } } }),
);

/** All workflows of a project. */
export function workflowsOf(project: string | null) {
  return asked(["workflows", "choices", project], () =>
    api.GET("/api/v1/workflow-definitions", {
      params: { query: { limit: 1000, ...(project !== null && { project }) } },
    }),
  );
}

/** Read again all that a change of a workflow touches, without waiting for the event. */
export function changedWorkflow(): void {
  for (const word of ["workflow", "workflows", "relations", "schedules", "drafts", "version-text"])
    void queries.invalidateQueries({ queryKey: [word] });
}

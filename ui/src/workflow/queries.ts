/** What is read of one workflow. */
import { api, type Schemas } from "@/api/client";
import { asked, paged } from "@/api/reads";
import { exported } from "@/editor/queries";

/** The last runs of a workflow, as bars. */
export function lastRunsOf(code: string | undefined) {
  return {
    queryKey: ["last-runs", [code]],
    queryFn: () => api.GET("/api/v1/workflow-definitions:last-runs", { params: { query: { code: [code ?? ""] } } }),
    enabled: code !== undefined,
  };
}

/** The versions of a workflow, newest first, page by page. */
export function versionsOf(code: string) {
  return paged(["workflow", code, "versions"], (at) =>
    api.GET("/api/v1/workflow-definitions/{code}/versions", {
      params: { path: { code }, query: { limit: 50, ...at } },
    }),
  );
}

/** Who saved the newest version of a workflow, and when. */
export function authorOf(code: string | undefined, version: number) {
  return {
    queryKey: ["workflow-author", code, version],
    queryFn: async () => {
      const params = { path: { code: code ?? "" }, query: { limit: 1 } };
      const { items } = await api.GET("/api/v1/workflow-definitions/{code}/versions", { params });
      return items[0] ?? null;
    },
    enabled: code !== undefined,
  };
}

/** The YAML of a version, as it was written or made from what it does. */
export function versionText(code: string, version: number, canonical: boolean) {
  return asked(["version-text", code, version, canonical], () => exported(code, version, canonical));
}

/** A workflow's schedules, each with its next times. */
export function schedulesOf(project: string, workflow: string) {
  return {
    queryKey: ["schedules", project, workflow],
    queryFn: async () => {
      const query = { project, workflow, limit: 100 };
      const { items } = await api.GET("/api/v1/schedules", { params: { query } });
      return Promise.all(
        items.map((each) =>
          api.GET("/api/v1/schedules/{id}", { params: { path: { id: each.id }, query: { next: 5 } } }),
        ),
      );
    },
  };
}

/** What a workflow has to do with others. */
export function relationsOf(code: string) {
  return asked(["relations", code], () =>
    api.GET("/api/v1/workflow-definitions/{code}/relations", { params: { path: { code } } }),
  );
}

export type Schedule = Schemas["ScheduleDetail"];

/** What several sections read. */
import { queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";
import { asked } from "@/api/reads";

/** The projects, with how much is in them. */
export const projectList = asked(["projects", "list"], () =>
  api.GET("/api/v1/projects", { params: { query: { limit: 1000 } } }),
);

/** One project, with the parameters that its workflows share. */
export function projectOf(name: string) {
  return queryOptions({
    queryKey: ["projects", "one", name],
    queryFn: () => api.GET("/api/v1/projects/{name}", { params: { path: { name } } }),
    refetchOnWindowFocus: false,
  });
}

/** Their names. */
export const projectNames = queryOptions({ ...projectList, select: (page) => page.items.map((each) => each.name) });

/** The accounts. */
export const userList = asked(["users"], () => api.GET("/api/v1/users", { params: { query: { limit: 1000 } } }));

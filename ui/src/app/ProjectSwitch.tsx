import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { api, bodyOf } from "@/api/client";

const KEY = "shoal-project";
const listeners = new Set<() => void>();

/** The project that the pages are about; null = all. Kept in this browser. */
export function useProject(): string | null {
  return useSyncExternalStore(
    (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    () => localStorage.getItem(KEY),
  );
}

/** Let the pages be about this project; null = all. */
export function chooseProject(name: string | null): void {
  if (name === null) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, name);
  for (const each of listeners) each();
}

/** Chooses the project. */
export function ProjectSwitch() {
  const { t } = useTranslation("app");
  const project = useProject();
  const projects = useQuery({
    queryKey: ["projects"],
    queryFn: () => bodyOf(api.GET("/api/v1/projects", { params: { query: { limit: 200 } } })),
  });
  return (
    <Select
      className="project"
      aria-label={t("project")}
      placeholder={t("allProjects")}
      data={projects.data?.items.map((each) => each.name) ?? []}
      value={project}
      onChange={chooseProject}
      searchable
      clearable
      variant="unstyled"
    />
  );
}

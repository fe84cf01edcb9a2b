import { UnstyledButton } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";
import { lazy, Suspense, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

const ProjectList = lazy(async () => ({ default: (await import("./ProjectList")).ProjectList }));
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

/** Chooses the project. The list and what draws it are loaded when it is opened. */
export function ProjectSwitch() {
  const { t } = useTranslation("app");
  const project = useProject();
  const [isOpen, setIsOpen] = useState(false);
  const shown = (
    <UnstyledButton
      className="project"
      aria-label={`${t("project")}: ${project ?? t("allProjects")}`}
      aria-haspopup="listbox"
      data-empty={project === null}
      onClick={() => setIsOpen(true)}
    >
      <span className="cut">{project ?? t("allProjects")}</span>
      <IconChevronDown size={14} stroke={1.5} aria-hidden />
    </UnstyledButton>
  );
  return isOpen ? (
    <Suspense fallback={shown}>
      <ProjectList project={project} onClose={() => setIsOpen(false)} />
    </Suspense>
  ) : (
    shown
  );
}

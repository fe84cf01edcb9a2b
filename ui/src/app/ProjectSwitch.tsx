import { UnstyledButton } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import { shared } from "@/parts/shared";

const ProjectList = lazy(async () => ({ default: (await import("./ProjectList")).ProjectList }));
const KEY = "shoal-project";
const project = shared(localStorage.getItem(KEY), (name) => {
  if (name === null) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, name);
});

/** The project that the pages are about; null = all. Kept in this browser. */
export const useProject = project.use;
export const chooseProject = project.set;

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

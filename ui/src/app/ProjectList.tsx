import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { projectList } from "@/settings/queries";
import { chooseProject } from "./ProjectSwitch";

/** The projects to choose from, opened; it closes when one is chosen or left. */
export function ProjectList({ project, onClose }: { project: string | null; onClose: () => void }) {
  const { t } = useTranslation("app");
  const found = useQuery(projectList);
  return (
    <Select
      className="project"
      aria-label={t("project")}
      placeholder={t("allProjects")}
      data={found.data?.items.map((each) => each.name) ?? []}
      value={project}
      onChange={(name) => {
        chooseProject(name);
        onClose();
      }}
      onBlur={onClose}
      autoFocus
      defaultDropdownOpened
      searchable
      clearable
      variant="unstyled"
    />
  );
}

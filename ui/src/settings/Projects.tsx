import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { useWhyNot } from "@/login/rights";
import { ListAndDetail } from "./ListAndDetail";
import { NewNamed } from "./NewNamed";
import { Project } from "./Project";
import { projectList } from "./queries";

/** The projects, each with the number of its workflows. */
export function Projects() {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const found = useQuery(projectList);
  return (
    <ListAndDetail
      section="projects"
      of={found}
      keyOf={(each) => each.name}
      row={(each) => [each.name, each.workflows]}
      whyNot={whyNot}
      form={
        <NewNamed
          section="projects"
          label={t("newProject")}
          create={(name) => api.POST("/api/v1/projects", { body: { name } })}
          keyOf={(made) => made.name}
          said={(made) => t("projectMade", { name: made.name })}
        />
      }
    >
      {(each) => <Project name={each.name} />}
    </ListAndDetail>
  );
}

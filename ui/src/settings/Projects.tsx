import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Answer, Empty } from "@/parts/Answer";
import { Detail } from "@/parts/Detail";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Project } from "./Project";
import { projectList } from "./queries";
import { ValueForm } from "./ValueForm";

/** The projects; the one in the address is open. */
export function Projects() {
  const { t } = useTranslation("settings");
  const { project } = useSearch({ strict: false }) as { project?: string };
  const navigate = useNavigate();
  const whyNot = useWhyNot("ADMIN");
  const found = useQuery(projectList);
  const done = useDone("projects");
  const [name, setName] = useState("");
  const open = (chosen: string | undefined) =>
    void navigate({
      to: "/settings/$section",
      params: { section: "projects" },
      search: chosen === undefined ? {} : { project: chosen },
    });
  const create = useMutation({
    mutationFn: () => api.POST("/api/v1/projects", { body: { name } }),
    onSuccess: async (made) => {
      setName("");
      await done(t("projectMade", { name: made.name }));
      open(made.name);
    },
  });
  return (
    <>
      <Panel title={t("section.projects")} remark={found.data?.items.length}>
        <Answer of={found} empty={<Empty title={t("noProjects")}>{t("noProjectsHelp")}</Empty>}>
          {(page) => (
            <Table heads={[t("name"), { num: t("workflows") }, t("tenants"), t("workerGroups")]}>
              {page.items.map((each) => (
                <tr key={each.name} aria-selected={each.name === project}>
                  <td>
                    <Link
                      to="/settings/$section"
                      params={{ section: "projects" }}
                      search={{ project: each.name }}
                      resetScroll={false}
                    >
                      {each.name}
                    </Link>
                  </td>
                  <td className="num">{each.workflows}</td>
                  <td>{each.tenants?.join(", ") || t("all")}</td>
                  <td>{each.worker_groups?.join(", ") || t("all")}</td>
                </tr>
              ))}
            </Table>
          )}
        </Answer>
        <footer>
          <ValueForm
            label={t("newProject")}
            verb={t("create")}
            value={name}
            onValue={setName}
            field="name"
            whyNot={whyNot}
            whyEmpty={t("nameFirst")}
            request={create}
            onSubmit={() => create.mutate()}
          />
        </footer>
      </Panel>
      {project !== undefined && (
        <Detail key={project}>
          <Project name={String(project)} onGone={() => open(undefined)} />
        </Detail>
      )}
    </>
  );
}

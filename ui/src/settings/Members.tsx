import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { asked } from "@/api/reads";
import { useMay, useWhyNot } from "@/login/rights";
import { Answer } from "@/parts/Answer";
import { userList } from "./queries";
import { Roles } from "./Roles";

/** Who has which role in a project. */
export function Members({ project }: { project: string }) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("OWNER", project);
  const users = useQuery({ ...userList, enabled: useMay("ADMIN", null) });
  const found = useQuery(
    asked(["projects", "members", project], () =>
      api.GET("/api/v1/projects/{project}/members", { params: { path: { project } } }),
    ),
  );
  return (
    <Answer of={found}>
      {({ items }) => (
        <Roles
          title={t("members")}
          by="name"
          rows={items.map(({ name, role, disabled }) => ({
            key: name,
            shown: disabled && <span className="tag">{t("disabled")}</span>,
            role,
          }))}
          memberOf={(name) => ({ project, name })}
          whyNot={whyNot}
          empty={t("noMembers")}
          label={t("newMember")}
          choices={users.data?.items.map((each) => each.name) ?? []}
        />
      )}
    </Answer>
  );
}

import { Select } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { asked } from "@/api/reads";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { RowAct } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Heads } from "@/parts/Table";
import { ValueForm } from "./ValueForm";

type Role = Schemas["Role"];
const ROLES: Role[] = ["VIEWER", "OPERATOR", "EDITOR", "OWNER"];

/** Who has which role in a project. */
export function Members({ project }: { project: string }) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("OWNER", project);
  const done = useDone("projects", "me");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("VIEWER");
  const found = useQuery(
    asked(["projects", "members", project], () =>
      api.GET("/api/v1/projects/{project}/members", { params: { path: { project } } }),
    ),
  );
  const put = useMutation({
    mutationFn: (member: { name: string; role: Role }) =>
      api.PUT("/api/v1/projects/{project}/members/{name}", {
        params: { path: { project, name: member.name } },
        body: { role: member.role },
      }),
    onSuccess: (member) => {
      setName("");
      return done(t("memberIs", { name: member.name, role: t(`role.${member.role}`) }));
    },
  });
  const remove = useMutation({
    mutationFn: (member: string) =>
      api.DELETE("/api/v1/projects/{project}/members/{name}", { params: { path: { project, name: member } } }),
    onSuccess: () => done(t("memberGone")),
    onError: sayFailure,
  });
  const roles = ROLES.map((value) => ({ value, label: t(`role.${value}`) }));
  const roleOf = (value: string | null) => ROLES.find((each) => each === value) ?? "VIEWER";
  return (
    <Panel title={t("members")} remark={found.data?.items.length}>
      <Answer of={found} empty={<Empty title={t("noMembers")}>{t("noMembersHelp")}</Empty>}>
        {(all) => (
          <table>
            <Heads of={[t("name"), t("role"), { unseen: t("actions") }]} />
            <tbody>
              {all.items.map((each) => (
                <tr key={each.account}>
                  <td>
                    {each.name} {each.disabled && <span className="tag">{t("disabled")}</span>}
                  </td>
                  <td>
                    {whyNot === null ? (
                      <Select
                        size="xs"
                        w={150}
                        aria-label={t("roleOf", { name: each.name })}
                        data={roles}
                        value={each.role}
                        allowDeselect={false}
                        onChange={(value) => put.mutate({ name: each.name, role: roleOf(value) })}
                      />
                    ) : (
                      t(`role.${each.role}`)
                    )}
                  </td>
                  <td className="num">
                    <RowAct why={whyNot} onClick={() => remove.mutate(each.name)} word={t("remove")} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Answer>
      <footer>
        <ValueForm
          label={t("newMember")}
          verb={t("add")}
          value={name}
          onValue={setName}
          field="name"
          whyNot={whyNot}
          whyEmpty={t("nameFirst")}
          request={put}
          onSubmit={() => put.mutate({ name, role })}
        >
          <Select
            w={130}
            aria-label={t("role")}
            data={roles}
            value={role}
            allowDeselect={false}
            onChange={(value) => setRole(roleOf(value))}
          />
        </ValueForm>
      </footer>
    </Panel>
  );
}

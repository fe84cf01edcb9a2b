import { Select } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { useDone } from "@/forms/useDone";
import { RowAct } from "@/parts/Act";
import { Empty } from "@/parts/Answer";
import { sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { ValueForm } from "./ValueForm";

type Role = Schemas["Role"];
const ROLES: Role[] = ["VIEWER", "OPERATOR", "EDITOR", "OWNER"];

interface Member {
  project: string;
  name: string;
}

interface Props {
  title: string;
  /** What the rows are called by: "name" or "project". */
  by: keyof Member;
  rows: readonly { key: string; shown?: ReactNode; role: Role }[];
  /** Who it is in which project, for what names a row. */
  memberOf: (key: string) => Member;
  whyNot: string | null;
  empty: ReactNode;
  /** What the field of a new row is called, and what may be chosen in it. */
  label: string;
  choices?: string[];
}

/** Who has which role: the members of a project, or the projects of an account. */
export function Roles({ title, by, rows, memberOf, whyNot, empty, label, choices }: Props) {
  const { t } = useTranslation("settings");
  const done = useDone("projects", "users", "me");
  const [key, setKey] = useState("");
  const [role, setRole] = useState<Role>("VIEWER");
  const put = useMutation({
    mutationFn: ({ project, name, role }: Member & { role: Role }) =>
      api.PUT("/api/v1/projects/{project}/members/{name}", { params: { path: { project, name } }, body: { role } }),
    onSuccess: (member) => {
      setKey("");
      return done(t("memberIs", { name: member.name, role: t(`role.${member.role}`) }));
    },
  });
  const remove = useMutation({
    mutationFn: (path: Member) => api.DELETE("/api/v1/projects/{project}/members/{name}", { params: { path } }),
    onSuccess: () => done(t("memberGone")),
    onError: sayFailure,
  });
  const data = ROLES.map((value) => ({ value, label: t(`role.${value}`) }));
  const roleOf = (value: string | null) => ROLES.find((each) => each === value) ?? "VIEWER";
  return (
    <Panel title={title} remark={rows.length}>
      {rows.length === 0 ? (
        <Empty title={empty}>{t("noMembersHelp")}</Empty>
      ) : (
        <Table heads={[t(by), t("role"), { unseen: t("actions") }]}>
          {rows.map((each) => (
            <tr key={each.key}>
              <td>
                {each.key} {each.shown}
              </td>
              <td>
                {whyNot === null ? (
                  <Select
                    size="xs"
                    w={150}
                    aria-label={t("roleOf", { name: each.key })}
                    data={data}
                    value={each.role}
                    allowDeselect={false}
                    onChange={(value) => put.mutate({ ...memberOf(each.key), role: roleOf(value) })}
                  />
                ) : (
                  t(`role.${each.role}`)
                )}
              </td>
              <td className="num">
                <RowAct why={whyNot} onClick={() => remove.mutate(memberOf(each.key))} word={t("remove")} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <footer>
        <ValueForm
          label={label}
          choices={choices?.filter((choice) => !rows.some((each) => each.key === choice))}
          verb={t("add")}
          value={key}
          onValue={setKey}
          field={by}
          whyNot={whyNot}
          whyEmpty={t("nameFirst")}
          request={put}
          onSubmit={() => put.mutate({ ...memberOf(key), role })}
        >
          <Select
            w={130}
            aria-label={t("role")}
            data={data}
            value={role}
            allowDeselect={false}
            onChange={(value) => setRole(roleOf(value))}
          />
        </ValueForm>
      </footer>
    </Panel>
  );
}

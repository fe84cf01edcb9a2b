import { Checkbox } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Answer } from "@/parts/Answer";
import { Detail } from "@/parts/Detail";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { projectNames, userList } from "./queries";
import { User } from "./User";
import { ValueForm } from "./ValueForm";

/** The accounts; the one in the address is open. */
export function Users() {
  const { t } = useTranslation("settings");
  const { user } = useSearch({ strict: false }) as { user?: string | number };
  const whyNot = useWhyNot("ADMIN");
  const found = useQuery(userList);
  const projects = useQuery(projectNames);
  const done = useDone("users");
  const [name, setName] = useState("");
  const [isAdmin, setIsAdmin] = useState(false);
  const create = useMutation({
    mutationFn: () => api.POST("/api/v1/users", { body: { name, is_admin: isAdmin } }),
    onSuccess: (made) => {
      setName("");
      setIsAdmin(false);
      return done(t("userMade", { name: made.name }));
    },
  });
  const chosen = found.data?.items.find((each) => each.id === String(user));
  return (
    <>
      <Panel title={t("section.users")} remark={found.data?.items.length}>
        <Answer of={found}>
          {(page) => (
            <Table heads={[t("name"), t("rights"), t("state"), { num: t("created") }]}>
              {page.items.map((each) => (
                <tr key={each.id} aria-selected={each.id === chosen?.id}>
                  <td>
                    <Link
                      to="/settings/$section"
                      params={{ section: "users" }}
                      search={{ user: each.id }}
                      resetScroll={false}
                    >
                      {each.name}
                    </Link>
                  </td>
                  <td>{t(each.is_admin ? "administrator" : "byRoles")}</td>
                  <td>
                    <i className="st" data-s={each.disabled_at ? "STOP" : "SUCCESS"} aria-hidden />{" "}
                    {t(each.disabled_at ? "disabled" : each.has_password ? "enabled" : "noPasswordYet")}
                  </td>
                  <td className="num">
                    <Moment at={each.created_at} />
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Answer>
        <footer>
          <ValueForm
            label={t("newUser")}
            verb={t("create")}
            value={name}
            onValue={setName}
            field="name"
            whyNot={whyNot}
            whyEmpty={t("nameFirst")}
            request={create}
            onSubmit={() => create.mutate()}
          >
            <Checkbox
              label={t("administrator")}
              checked={isAdmin}
              onChange={(event) => setIsAdmin(event.currentTarget.checked)}
            />
          </ValueForm>
        </footer>
      </Panel>
      {chosen !== undefined && (
        <Detail key={chosen.id}>
          <User user={chosen} projects={projects.data ?? []} />
        </Detail>
      )}
    </>
  );
}

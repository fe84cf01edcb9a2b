import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match, ROOT, type Schemas } from "@/api/client";
import { asked } from "@/api/reads";
import { ShownOnce } from "@/forms/ShownOnce";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { SmallAct } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Facts } from "@/parts/Facts";
import { sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Moment } from "@/parts/Time";
import { END_TOKENS, EndTokens } from "./EndTokens";
import { projectNames } from "./queries";
import { Roles } from "./Roles";
import { Sessions } from "./Sessions";
import { Tokens } from "./Tokens";
import { ValueForm } from "./ValueForm";

/** One account: enabled or not, administrator or not, how it gets in, its roles, where it is logged in. */
export function User({ user }: { user: Schemas["UserAnswer"] }) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const done = useDone("users", "sessions", "tokens");
  const [password, setPassword] = useState("");
  const [endTokens, setEndTokens] = useState(END_TOKENS);
  const path = { id: user.id };
  const change = useMutation({
    mutationFn: (body: Schemas["ChangeUser"]) =>
      api.PATCH("/api/v1/users/{id}", { params: { path, header: match(user.version) }, body }),
    onSuccess: () => done(t("savedNamed", { name: user.name })),
    onError: sayFailure,
  });
  const link = useMutation({
    mutationFn: () => api.POST("/api/v1/users/{id}/login-link", { params: { path } }),
    onError: sayFailure,
  });
  const setTo = useMutation({
    mutationFn: () =>
      api.PUT("/api/v1/users/{id}/password", { params: { path }, body: { password, end_tokens: endTokens } }),
    onSuccess: () => {
      setPassword("");
      return done(t("passwordSet", { name: user.name }));
    },
  });
  const isDisabled = user.disabled_at != null;
  return (
    <>
      <Panel
        title={user.name}
        end={
          <>
            <SmallAct
              why={whyNot}
              onClick={() => change.mutate({ is_admin: !user.is_admin })}
              word={t(user.is_admin ? "takeAdmin" : "makeAdmin")}
            />
            <SmallAct
              why={whyNot}
              onClick={() => change.mutate({ disabled: !isDisabled })}
              word={t(isDisabled ? "enable" : "disable")}
            />
            <SmallAct loading={link.isPending} why={whyNot} onClick={() => link.mutate()} word={t("loginLink")} />
          </>
        }
      >
        <div className="form pad">
          <Facts
            className="facts"
            of={[
              [t("rights"), t(user.is_admin ? "administrator" : "byRoles")],
              [t("state"), t(isDisabled ? "disabled" : user.has_password ? "enabled" : "noPasswordYet")],
              [t("created"), <Moment key="created" at={user.created_at} />],
            ]}
          />
          {link.data && (
            <ShownOnce
              text={new URL(`${ROOT}login?link=${link.data.secret}`, location.href).href}
              what={t("linkOnce", { name: user.name, minutes: Math.round(link.data.lives_s / 60) })}
            />
          )}
          <ValueForm
            label={t("newPassword")}
            verb={t("setPassword")}
            value={password}
            onValue={setPassword}
            field="password"
            whyNot={whyNot}
            whyEmpty={t("passwordFirst")}
            request={setTo}
            onSubmit={() => setTo.mutate()}
          >
            <EndTokens value={endTokens} onChange={setEndTokens} />
          </ValueForm>
        </div>
      </Panel>
      <UserRoles user={user} />
      <Sessions account={user.id} />
      <Tokens account={user.id} />
    </>
  );
}

/** The projects in which an account has a role. */
function UserRoles({ user: { id, name, is_admin } }: { user: Schemas["UserAnswer"] }) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const projects = useQuery(projectNames);
  const found = useQuery(asked(["users", id], () => api.GET("/api/v1/users/{id}", { params: { path: { id } } })));
  return (
    <Answer of={found}>
      {({ roles }) => (
        <Roles
          title={t("roles")}
          by="project"
          rows={Object.entries(roles).map(([key, role]) => ({ key, role }))}
          memberOf={(project) => ({ project, name })}
          whyNot={whyNot}
          empty={t(is_admin ? "needsNoRole" : "noRoles")}
          label={t("projectOfRole")}
          choices={projects.data ?? []}
        />
      )}
    </Answer>
  );
}

import { PasswordInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, bodyOf, ROOT, type Schemas } from "@/api/client";
import { faultAt, faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { ShownOnce } from "@/forms/ShownOnce";
import { Submit } from "@/forms/Submit";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/may";
import { Act } from "@/parts/Act";
import { Panel } from "@/parts/Panel";
import { Sessions } from "./Sessions";
import { Tokens } from "./Tokens";

interface Props {
  user: Schemas["UserAnswer"];
  projects: string[];
}

/** One account: enabled or not, administrator or not, how it gets in, where it is logged in. */
export function User({ user, projects }: Props) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const { place, done, failed } = useDone("users", "sessions");
  const [password, setPassword] = useState("");
  const path = { id: user.id };
  const change = useMutation({
    mutationFn: (body: Schemas["ChangeUser"]) =>
      bodyOf(api.PATCH("/api/v1/users/{id}", { params: { path, header: { "If-Match": `"${user.version}"` } }, body })),
    onSuccess: () => done(t("savedNamed", { name: user.name })),
    onError: failed,
  });
  const link = useMutation({
    mutationFn: () => bodyOf(api.POST("/api/v1/users/{id}/login-link", { params: { path } })),
    onError: failed,
  });
  const setTo = useMutation({
    mutationFn: () => api.PUT("/api/v1/users/{id}/password", { params: { path }, body: { password } }),
    onSuccess: () => {
      setPassword("");
      return done(t("passwordSet", { name: user.name }));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTo.mutate();
  };
  const isDisabled = user.disabled_at != null;
  return (
    <>
      <Panel
        title={user.name}
        end={
          <>
            <Act size="xs" variant="default" why={whyNot} onClick={() => change.mutate({ is_admin: !user.is_admin })}>
              {t(user.is_admin ? "takeAdmin" : "makeAdmin")}
            </Act>
            <Act size="xs" variant="default" why={whyNot} onClick={() => change.mutate({ disabled: !isDisabled })}>
              {t(isDisabled ? "enable" : "disable")}
            </Act>
            <Act size="xs" loading={link.isPending} why={whyNot} onClick={() => link.mutate()}>
              {t("loginLink")}
            </Act>
          </>
        }
      >
        <div className="form pad">
          {link.data && (
            <ShownOnce
              text={new URL(`${ROOT}login?link=${link.data.secret}`, location.href).href}
              what={t("linkOnce", { name: user.name, minutes: Math.round(link.data.lives_s / 60) })}
            />
          )}
          <p className="soft">
            {t("rolesWhere")}{" "}
            {projects.map((project) => (
              <Link key={project} to="/settings/$section" params={{ section: "projects" }} search={{ project }}>
                {project}{" "}
              </Link>
            ))}
          </p>
          <form className="line new-named" onSubmit={submit}>
            <PasswordInput
              className="grow"
              aria-label={t("newPassword")}
              placeholder={t("newPassword")}
              autoComplete="new-password"
              visibilityToggleButtonProps={{ "aria-label": t("show") }}
              value={password}
              error={faultAt(setTo.error, "password")}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            <Submit isPending={setTo.isPending} why={whyNot ?? (password === "" ? t("passwordFirst") : null)}>
              {t("setPassword")}
            </Submit>
          </form>
          <Refusal error={faultBeside(setTo.error, "password")} />
        </div>
      </Panel>
      <Sessions account={user.id} />
      <Tokens account={user.id} />
      {place}
    </>
  );
}

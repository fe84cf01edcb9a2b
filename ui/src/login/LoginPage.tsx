import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ROOT, type Schemas } from "@/api/client";
import { Failure } from "@/parts/Answer";
import { sends } from "@/parts/sends";
import { PasswordFields } from "./PasswordFields";
import { ProviderLogin } from "./ProviderLogin";
import { logIn } from "./session";
import "./login.css";

/** Log in: with name and password, or by a one-time link, which is used up only when the button is pressed. */
export function LoginPage() {
  const { t } = useTranslation("login");
  const { link, back } = useSearch({ from: "/login" });
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const attempt = useMutation({
    mutationFn: (how: Schemas["LogIn"]) => logIn(how),
    retry: false,
    onSuccess: () => navigate({ href: back?.startsWith("/") ? back : "/", replace: true }),
  });
  return (
    <main className="login">
      <form
        onSubmit={sends(() => attempt.mutate(link !== undefined ? { link } : { name, password }))}
        className="panel"
      >
        <h1>
          <img src={`${ROOT}logo.svg`} alt="" width={28} height={28} /> Shoal
        </h1>
        {link === undefined ? (
          <PasswordFields name={name} onName={setName} password={password} onPassword={setPassword} />
        ) : (
          <p>{t("byLink")}</p>
        )}
        {attempt.error !== null && <Failure error={attempt.error} />}
        <Button type="submit" loading={attempt.isPending} autoFocus={link !== undefined}>
          {t("logIn")}
        </Button>
        {link === undefined && <ProviderLogin back={back ?? "/"} />}
        {link !== undefined && attempt.error !== null && <a href={`${ROOT}login`}>{t("withPassword")}</a>}
      </form>
    </main>
  );
}

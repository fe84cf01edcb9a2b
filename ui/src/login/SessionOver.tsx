import { Button, Modal } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { ROOT } from "@/api/client";
import { Failure } from "@/parts/Answer";
import { sends } from "@/parts/sends";
import { PasswordFields } from "./PasswordFields";
import { ProviderLogin } from "./ProviderLogin";
import { goOnAgain, logInAgain, me } from "./session";
import "./login.css";

/** Above every other dialog, and the notices. */
const ABOVE_DIALOGS = 390;

/** A login over the page whose session is over: the page stays as it is, with what was typed. */
export function SessionOver() {
  const { t } = useTranslation("login");
  const who = useQuery({ ...me, enabled: false });
  const [name, setName] = useState(who.data?.name ?? "");
  const [password, setPassword] = useState("");
  const attempt = useMutation({ mutationFn: logInAgain, retry: false });
  // A login at a provider in another tab tells nobody.
  useEffect(() => {
    window.addEventListener("focus", goOnAgain);
    return () => window.removeEventListener("focus", goOnAgain);
  }, []);
  return (
    <Modal
      opened
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      zIndex={ABOVE_DIALOGS}
      size={372}
      centered
      lockScroll={false}
      title={
        <span className="login-brand">
          <img src={`${ROOT}logo.svg`} alt="" width={22} height={22} /> {t("over")}
        </span>
      }
    >
      <form onSubmit={sends(() => attempt.mutate({ name, password }))} className="login-again">
        <p>{t("overMeans")}</p>
        <PasswordFields name={name} onName={setName} password={password} onPassword={setPassword} />
        {attempt.error !== null && <Failure error={attempt.error} />}
        <Button type="submit" loading={attempt.isPending}>
          {t("logIn")}
        </Button>
        <ProviderLogin back="/" apart />
        <p className="mute">{t("overLink")}</p>
      </form>
    </Modal>
  );
}

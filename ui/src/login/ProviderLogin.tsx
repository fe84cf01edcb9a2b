import { useTranslation } from "react-i18next";
import { ROOT } from "@/api/client";

/** The name of the OpenID Connect provider, which the API writes into the document; empty = there is none. */
const PROVIDER = document.querySelector<HTMLMetaElement>('meta[name="login-provider"]')?.content ?? "";

interface Props {
  /** The address of the page to come back to. */
  back: string;
  /** In a tab of its own, since this page stays as it is. */
  apart?: boolean;
}

/** The way to a login at the provider, if there is one. */
export function ProviderLogin({ back, apart = false }: Props) {
  const { t } = useTranslation("login");
  if (PROVIDER === "") return null;
  return (
    <a
      className="login-provider"
      href={`${ROOT}login/oidc?back=${encodeURIComponent(back)}`}
      {...(apart && { target: "_blank", rel: "noopener" })}
    >
      {t("withProvider", { name: PROVIDER })}
    </a>
  );
}

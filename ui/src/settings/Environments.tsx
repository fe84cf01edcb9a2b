import { Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { environments } from "@/editor/queries";
import { NamedList } from "./NamedList";

const ROWS = 12;

/** Shell scripts that set up tasks. A script may hold secrets: it can be replaced, and is never shown. */
export function Environments() {
  const { t } = useTranslation("settings");
  const found = useQuery(environments);
  return (
    <NamedList
      section="environments"
      of={found}
      field="script"
      input={(given) => (
        <Textarea
          label={t("script")}
          description={t("scriptHelp")}
          placeholder={"export PATH=/opt/java/bin:$PATH"}
          rows={ROWS}
          classNames={{ input: "mono" }}
          {...given}
        />
      )}
      save={(name, script) => api.PUT("/api/v1/environments/{name}", { params: { path: { name } }, body: { script } })}
      remove={(name) => api.DELETE("/api/v1/environments/{name}", { params: { path: { name } } })}
      touches={["environments", "secrets"]}
    />
  );
}

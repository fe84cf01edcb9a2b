import { TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { useDone } from "@/forms/useDone";
import type { Resource } from "./queries";

/** Stops giving a resource, with the reason that everybody sees. */
export function SetAside({ pool, resource, onClose }: { pool: string; resource: Resource; onClose: () => void }) {
  const { t } = useTranslation("pools");
  const done = useDone("pools");
  const [reason, setReason] = useState("");
  const aside = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/resource-pools/{name}/set-aside", {
        params: { path: { name: pool } },
        body: { resource: resource.name, reason },
      }),
    onSuccess: ({ is_new, set_aside_by, set_aside_why }) => {
      onClose();
      const name = resource.name;
      void done(is_new ? t("isAside", { name }) : t("wasAside", { name, by: set_aside_by, why: set_aside_why }));
    },
  });
  return (
    <FormDialog
      title={t("setAsideNamed", { name: resource.name })}
      verb={t("setAsideVerb")}
      sending={aside}
      onClose={onClose}
    >
      <p>{t(resource.taken_at ? "setAsideHeldHelp" : "setAsideHelp")}</p>
      <TextInput
        label={t("reason")}
        description={t("reasonHelp")}
        value={reason}
        maxLength={1000}
        data-autofocus
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

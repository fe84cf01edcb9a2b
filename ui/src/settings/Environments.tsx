import { Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { environments } from "@/editor/queries";
import { FormDialog } from "@/forms/FormDialog";
import { useFields } from "@/forms/useFields";
import { type FormProps, NamedList } from "./NamedList";

const ROWS = 8;

/** Shell scripts that set up tasks. A script may hold secrets: it can be replaced, and is never shown. */
export function Environments() {
  const { t } = useTranslation("settings");
  const found = useQuery(environments);
  return (
    <NamedList
      title={t("section.environments")}
      of={found}
      empty={t("noEnvironments")}
      emptyHelp={t("noEnvironmentsHelp")}
      verb={t("newEnvironment")}
      form={EnvironmentForm}
      remove={(name) => api.DELETE("/api/v1/environments/{name}", { params: { path: { name } } })}
      touches={["environments", "secrets"]}
    />
  );
}

function EnvironmentForm({ name: given, onClose, onSaved }: FormProps) {
  const { t } = useTranslation("settings");
  const { values, fieldsOf } = useFields({ name: given, script: "" });
  const { name, script } = values;
  const save = useMutation({
    mutationFn: () => api.PUT("/api/v1/environments/{name}", { params: { path: { name } }, body: { script } }),
    onSuccess: () => onSaved(name),
  });
  const field = fieldsOf(save.error);
  return (
    <FormDialog
      title={given === "" ? t("newEnvironment") : t("replaceNamed", { name: given })}
      size={620}
      verb={t("save")}
      why={name === "" ? t("nameFirst") : null}
      sending={save}
      fields={["name", "script"]}
      onClose={onClose}
    >
      <TextInput label={t("name")} readOnly={given !== ""} {...field("name")} />
      <Textarea
        label={t("script")}
        description={t("scriptHelp")}
        placeholder={"export PATH=/opt/java/bin:$PATH"}
        rows={ROWS}
        classNames={{ input: "mono" }}
        {...field("script")}
      />
    </FormDialog>
  );
}

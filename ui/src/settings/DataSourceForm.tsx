import { TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { useFields } from "@/forms/useFields";
import { Act } from "@/parts/Act";
import { Checked } from "./DataSources";
import type { FormProps } from "./NamedList";

/** The address of a database; it can be tested before it is saved. */
export function DataSourceForm({ name: given, onClose, onSaved }: FormProps) {
  const { t } = useTranslation("settings");
  const { values, fieldsOf } = useFields({ name: given, url: "" });
  const { name, url } = values;
  const test = useMutation({ mutationFn: () => api.POST("/api/v1/data-sources:test", { body: { url } }) });
  const save = useMutation({
    mutationFn: () => api.PUT("/api/v1/data-sources/{name}", { params: { path: { name } }, body: { url } }),
    onSuccess: () => onSaved(name),
  });
  const field = fieldsOf(save.error);
  const why = name === "" ? t("nameFirst") : url === "" ? t("urlFirst") : null;
  return (
    <FormDialog
      title={given === "" ? t("newDataSource") : t("replaceNamed", { name: given })}
      size={620}
      verb={t("save")}
      why={why}
      sending={save}
      fields={["name", "url"]}
      also={
        <Act
          variant="default"
          loading={test.isPending}
          why={url === "" ? t("urlFirst") : null}
          onClick={() => test.mutate()}
          word={t("test")}
        />
      }
      onClose={onClose}
    >
      <TextInput label={t("name")} readOnly={given !== ""} {...field("name")} />
      <TextInput
        label={t("url")}
        description={t("urlHelp")}
        placeholder="postgresql://user:password@host:5432/database"
        autoComplete="off"
        {...field("url")}
      />
      <div aria-live="polite">
        <Checked answer={test.data} error={test.error} />
      </div>
    </FormDialog>
  );
}

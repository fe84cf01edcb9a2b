import { Button, Modal, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, bodyOf } from "@/api/client";
import { faultAt, faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { Submit } from "@/forms/Submit";
import { Act } from "@/parts/Act";
import { Checked } from "./DataSources";

interface Props {
  /** "" = a new one. */
  name: string;
  onClose: () => void;
  onSaved: (name: string) => void;
}

/** The address of a database; it can be tested before it is saved. */
export function DataSourceForm({ name: given, onClose, onSaved }: Props) {
  const { t } = useTranslation(["settings", "forms"]);
  const [name, setName] = useState(given);
  const [url, setUrl] = useState("");
  const test = useMutation({ mutationFn: () => bodyOf(api.POST("/api/v1/data-sources:test", { body: { url } })) });
  const save = useMutation({
    mutationFn: () => bodyOf(api.PUT("/api/v1/data-sources/{name}", { params: { path: { name } }, body: { url } })),
    onSuccess: () => onSaved(name),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const why = name === "" ? t("nameFirst") : url === "" ? t("urlFirst") : null;
  return (
    <Modal
      opened
      onClose={onClose}
      size={620}
      title={given === "" ? t("newDataSource") : t("replaceNamed", { name: given })}
      lockScroll={false}
      closeButtonProps={{ "aria-label": t("forms:close") }}
    >
      <form className="form" onSubmit={submit}>
        <TextInput
          label={t("name")}
          value={name}
          readOnly={given !== ""}
          error={faultAt(save.error, "name")}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextInput
          label={t("url")}
          description={t("urlHelp")}
          placeholder="postgresql://user:password@host:5432/database"
          autoComplete="off"
          value={url}
          error={faultAt(save.error, "url")}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <div aria-live="polite">
          <Checked answer={test.data} error={test.error} />
        </div>
        <Refusal error={faultBeside(save.error, "name", "url")} />
        <div className="dialog-end">
          <Act
            variant="default"
            loading={test.isPending}
            why={url === "" ? t("urlFirst") : null}
            onClick={() => test.mutate()}
          >
            {t("test")}
          </Act>
          <Button variant="default" onClick={onClose}>
            {t("forms:cancel")}
          </Button>
          <Submit isPending={save.isPending} why={why}>
            {t("save")}
          </Submit>
        </div>
      </form>
    </Modal>
  );
}

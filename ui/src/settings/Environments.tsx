import { Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, bodyOf } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { faultAt } from "@/forms/faults";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { NamedList } from "./NamedList";

const ROWS = 8;

/** Shell scripts that set up tasks. A script may hold secrets: it can be replaced, and is never shown. */
export function Environments() {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const done = useDone("environments", "secrets");
  const [editing, setEditing] = useState<string | null>(null);
  const found = useQuery({ queryKey: ["environments"], queryFn: () => bodyOf(api.GET("/api/v1/environments")) });
  const remove = useMutation({
    mutationFn: (name: string) => api.DELETE("/api/v1/environments/{name}", { params: { path: { name } } }),
  });
  return (
    <>
      <NamedList
        title={t("section.environments")}
        of={found}
        whyNot={whyNot}
        empty={t("noEnvironments")}
        emptyHelp={t("noEnvironmentsHelp")}
        add={{ verb: t("newEnvironment"), onClick: () => setEditing("") }}
        onChange={(each) => setEditing(each.name)}
        removal={{
          isPending: remove.isPending,
          error: remove.error,
          help: t("deleteUsed"),
          run: (name, gone) =>
            remove.mutate(name, {
              onSuccess: () => {
                gone();
                void done(t("deletedNamed", { name }));
              },
            }),
        }}
      />
      {editing !== null && (
        <EnvironmentForm
          name={editing}
          onClose={() => setEditing(null)}
          onSaved={(name) => {
            setEditing(null);
            void done(t("savedNamed", { name }));
          }}
        />
      )}
    </>
  );
}

interface FormProps {
  name: string;
  onClose: () => void;
  onSaved: (name: string) => void;
}

function EnvironmentForm({ name: given, onClose, onSaved }: FormProps) {
  const { t } = useTranslation("settings");
  const [name, setName] = useState(given);
  const [script, setScript] = useState("");
  const save = useMutation({
    mutationFn: () => bodyOf(api.PUT("/api/v1/environments/{name}", { params: { path: { name } }, body: { script } })),
    onSuccess: () => onSaved(name),
  });
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
      <TextInput
        label={t("name")}
        value={name}
        readOnly={given !== ""}
        error={faultAt(save.error, "name")}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Textarea
        label={t("script")}
        description={t("scriptHelp")}
        placeholder={"export PATH=/opt/java/bin:$PATH"}
        rows={ROWS}
        classNames={{ input: "mono" }}
        value={script}
        error={faultAt(save.error, "script")}
        onChange={(event) => setScript(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

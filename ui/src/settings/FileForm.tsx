import { FileInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { FormDialog } from "@/forms/FormDialog";
import { faultAt } from "@/forms/faults";
import { count } from "@/parts/time";
import { BYTES_MAX, base64Of } from "./fileContent";

export type Saved = Schemas["SavedFile"];

interface Props {
  project: string;
  /** "" = new ones. */
  path: string;
  onClose: () => void;
  onSaved: (saved: readonly Saved[]) => void;
}

/** Uploads files into a folder of a project, or one in place of the file at `path`. */
export function FileForm({ project, path, onClose, onSaved }: Props) {
  const { t } = useTranslation("settings");
  const isNew = path === "";
  const [chosen, setChosen] = useState<File[]>([]);
  const [folder, setFolder] = useState("");
  const save = useMutation({
    mutationFn: async () => {
      const saved: Saved[] = [];
      for (const file of chosen) {
        const body = { path: isNew ? pathIn(folder, file.name) : path, content: await base64Of(file) };
        saved.push(await api.PUT("/api/v1/projects/{name}/file", { params: { path: { name: project } }, body }));
      }
      return saved;
    },
    onSuccess: onSaved,
    // Those before the one that was refused are saved.
    onError: () => queries.invalidateQueries({ queryKey: ["project-files"] }),
  });
  const large = chosen.find((each) => each.size > BYTES_MAX);
  const tooLarge = large && t("fileLarge", { name: large.name, size: count(large.size), most: count(BYTES_MAX) });
  return (
    <FormDialog
      title={isNew ? t("uploadTo", { name: project }) : t("replaceNamed", { name: path })}
      verb={isNew ? t("uploadVerb") : t("replace")}
      why={chosen.length === 0 ? t("fileFirst") : (tooLarge ?? null)}
      sending={save}
      fields={isNew ? ["path"] : []}
      onClose={onClose}
    >
      <FileInput<boolean>
        label={isNew ? t("files") : t("file")}
        placeholder={t("chooseFile")}
        multiple={isNew}
        value={isNew ? chosen : (chosen[0] ?? null)}
        error={tooLarge}
        data-autofocus
        onChange={(files) => setChosen([files ?? []].flat())}
      />
      {isNew && (
        <TextInput
          label={t("folder")}
          description={t("folderHelp")}
          placeholder="sql"
          value={folder}
          error={faultAt(save.error, "path")}
          onChange={(event) => setFolder(event.currentTarget.value)}
        />
      )}
    </FormDialog>
  );
}

/** The path of a file in a folder as somebody types it: "" is the project's top. */
function pathIn(folder: string, name: string): string {
  const names = folder.trim().replace(/^\/+|\/+$/g, "");
  return names === "" ? name : `${names}/${name}`;
}

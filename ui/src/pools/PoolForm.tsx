import { Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match, type Schemas } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { useDone } from "@/forms/useDone";
import type { PoolContent } from "./queries";

const FILE = "pool.yaml";
const ROWS = 14;
const NEW = `kind: pool
name: proxies
resources:
  p1: {host: 10.0.0.1, port: 3128}
  p2: {host: 10.0.0.2, port: 3128}
check:
  url: http://\${host}:\${port}/
  timeout: 5s
  every: 1m
`;

interface Props {
  /** null = a new one. */
  pool: PoolContent | null;
  onClose: () => void;
  onSaved: (name: string) => void;
}

/** A pool as its file. A save changes the version that was read, or reports that there is another now. */
export function PoolForm({ pool, onClose, onSaved }: Props) {
  const { t } = useTranslation("pools");
  const done = useDone("pools");
  // What was read when the form was opened: the pool may change behind it.
  const [read] = useState(pool);
  const [yaml, setYaml] = useState(read?.yaml ?? NEW);
  const save = useMutation({
    mutationFn: async (): Promise<Schemas["SavedPool"][]> => {
      if (read === null) {
        const body = { files: [{ name: FILE, content: yaml }], dry_run: false, are_new: true };
        return [...(await api.POST("/api/v1/resource-pools:apply", { body })).pools];
      }
      const params = { path: { name: read.name }, header: match(read.version) };
      return [await api.PUT("/api/v1/resource-pools/{name}", { params, body: { yaml } })];
    },
    onSuccess: (saved) => {
      const [first] = saved;
      if (first) onSaved(first.name);
      void done(saved.map((each) => said(each)).join(" "));
    },
  });
  return (
    <FormDialog
      title={read === null ? t("newPool") : t("changeNamed", { name: read.name })}
      size={720}
      verb={t("save")}
      sending={save}
      onClose={onClose}
    >
      <Textarea
        label={t("yaml")}
        description={t("yamlHelp")}
        rows={ROWS}
        spellCheck={false}
        classNames={{ input: "mono" }}
        value={yaml}
        onChange={(event) => setYaml(event.currentTarget.value)}
      />
    </FormDialog>
  );

  function said({ name, version, is_new_version, leaving }: Schemas["SavedPool"]): string {
    if (!is_new_version) return t("unchanged", { name });
    return `${t("saved", { name, version })}${leaving > 0 ? ` ${t("leaving", { count: leaving })}` : ""}`;
  }
}

import { Select, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Document } from "yaml";
import { api } from "@/api/client";
import { queries } from "@/api/queries";
import { exported, type Head, saveDraft } from "@/editor/queries";
import { FormDialog } from "@/forms/FormDialog";
import { editedBy, firstOf } from "@/login/edited";
import { me } from "@/login/session";
import { projectList } from "@/settings/queries";
import { copied } from "./copied";

interface Props {
  project: string | undefined;
  /** What it begins as; else empty. */
  of?: Head;
  onClose: () => void;
}

/** Begin a workflow: its draft is saved, and opened in the editor. */
export function NewWorkflow({ project, of, onClose }: Props) {
  const { t } = useTranslation("workflows");
  const navigate = useNavigate();
  const who = useQuery(me);
  const all = useQuery(projectList);
  const mine = who.data && all.data && editedBy(who.data, all.data);
  const [chosen, setChosen] = useState<string | null>(project ?? null);
  const [typed, setTyped] = useState(of?.name ?? "");
  const [fault, setFault] = useState<string | null>(null);
  const within = chosen ?? firstOf(mine ?? []);
  const name = typed.trim();
  const create = useMutation({
    mutationFn: async () => {
      // A person who is faster than the answers waits for them here.
      const known = await Promise.all([queries.ensureQueryData(me), queries.ensureQueryData(projectList)]);
      const inside = chosen ?? firstOf(editedBy(...known));
      if (inside === null) throw new Error(t("noProject"));
      await refuseTaken(name, inside, t("taken", { name, project: inside }));
      // Without comments, which may say where the first one comes from.
      const text = of ? copied((await exported(of.code, undefined, true)).yaml, inside, name) : textOf(name, inside);
      await saveDraft(inside, name, text, undefined);
      return inside;
    },
    retry: false,
    onSuccess: (inside) => {
      void queries.invalidateQueries({ queryKey: ["drafts"] });
      void navigate({ to: "/workflows/$project/$name", params: { project: inside, name } });
    },
  });
  const begin = () => {
    const isBad = name === "" || /^\d+$/.test(name) || /^[@-]/.test(name) || name.includes("/");
    setFault(isBad ? t("badName") : null);
    if (!isBad) create.mutate();
  };
  return (
    <FormDialog
      title={of ? t("copyTitle", { name: of.name }) : t("newTitle")}
      verb={t("create")}
      sending={{ ...create, mutate: begin }}
      onClose={onClose}
    >
      <TextInput
        data-autofocus
        label={t("name")}
        description={t("nameHelp")}
        error={fault}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <Select
        label={t("project")}
        data={mine ?? []}
        value={within}
        allowDeselect={false}
        onChange={setChosen}
        searchable
      />
      {mine?.length === 0 && <p className="mute">{t("noProject")}</p>}
    </FormDialog>
  );
}

/** The first text of a workflow. */
function textOf(name: string, project: string): string {
  return new Document({ name, ...(project !== "default" && { project }), tasks: [] }).toString();
}

/** Raises `sentence` if there is such a workflow; its names in the list are few, since they contain this one. */
async function refuseTaken(name: string, project: string, sentence: string): Promise<void> {
  const query = { q: name, project, limit: 1000 };
  const { items } = await api.GET("/api/v1/workflow-definitions", { params: { query } });
  if (items.some((each) => each.name === name)) throw new Error(sentence);
}

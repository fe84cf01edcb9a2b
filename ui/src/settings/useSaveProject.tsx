import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, match, type Schemas } from "@/api/client";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";

type Project = Schemas["ProjectPageAnswer"];
type Change = Partial<Schemas["ChangeProject"]>;

/** Changes fields of a project; all others stay. */
export function useSaveProject(project: Project) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("OWNER", project.name);
  const done = useDone("projects");
  const save = useMutation({
    mutationFn: (change: Change) =>
      api.PATCH("/api/v1/projects/{name}", {
        params: { path: { name: project.name }, header: match(project.version) },
        body: { without: [], without_defaults: [], ...change },
      }),
    onSuccess: () => done(t("savedNamed", { name: project.name })),
  });
  return { save, whyNot };
}

interface Props {
  save: Pick<UseMutationResult, "isPending">;
  whyNot: string | null;
  isSame: boolean;
  variant?: string;
  onSave: () => void;
}

/** The button that saves, and why it cannot. */
export function SaveProject({ save, whyNot, isSame, variant, onSave }: Props) {
  const { t } = useTranslation("settings");
  const why = whyNot ?? (isSame ? t("nothingChanged") : null);
  return <Act size="xs" variant={variant} loading={save.isPending} why={why} onClick={onSave} word={t("save")} />;
}

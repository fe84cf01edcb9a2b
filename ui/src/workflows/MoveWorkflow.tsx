import { Select } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match } from "@/api/client";
import { changedWorkflow, type Head } from "@/editor/queries";
import { FormDialog } from "@/forms/FormDialog";
import { editedBy } from "@/login/edited";
import { me } from "@/login/session";
import { Answer } from "@/parts/Answer";
import { say } from "@/parts/notices";
import { projectList } from "@/settings/queries";

/** Moves a workflow to another project, and says before what that changes. */
export function MoveWorkflow({ of, onClose }: { of: Head; onClose: () => void }) {
  const { t } = useTranslation("workflows");
  const navigate = useNavigate();
  const who = useQuery(me);
  const all = useQuery(projectList);
  const others = who.data && all.data ? editedBy(who.data, all.data).filter((each) => each !== of.project) : [];
  const [project, setProject] = useState<string | null>(null);
  const path = { params: { path: { code: of.code }, header: match(of.version) } };
  const preview = useQuery({
    queryKey: ["workflow", of.code, "move", of.version, project],
    queryFn: () =>
      api.POST("/api/v1/workflow-definitions/{code}/move", {
        ...path,
        body: { project: project ?? "", dry_run: true },
      }),
    enabled: project !== null,
    gcTime: 0,
  });
  const move = useMutation({
    mutationFn: (to: string) =>
      api.POST("/api/v1/workflow-definitions/{code}/move", { ...path, body: { project: to, dry_run: false } }),
    onSuccess: async ({ project: to, name }) => {
      say(t("moved", { name, project: to }));
      await navigate({ to: "/workflows/$project/$name", params: { project: to, name }, search: { tab: "settings" } });
      changedWorkflow(); // only now: nobody asks for it at its old place any more
    },
  });
  const isRefused = preview.data === undefined || (preview.data.refused?.length ?? 0) > 0;
  const why = project === null ? t("moveWhere") : isRefused ? t("moveStands") : null;
  return (
    <FormDialog
      title={t("moveTitle", { name: of.name })}
      verb={t("move")}
      why={why}
      sending={{ ...move, mutate: () => project !== null && move.mutate(project) }}
      onClose={onClose}
    >
      <Select
        data-autofocus
        label={t("project")}
        description={others.length > 0 ? t("moveMeans") : t("moveNowhere")}
        data={others}
        value={project}
        onChange={setProject}
        searchable
      />
      {project !== null && (
        <Answer of={preview} lines={3}>
          {({ changed, notes, refused = [] }) => (
            <ul className="stack" data-testid="move">
              {refused.map((each) => (
                <li key={each} className="bad">
                  {each}
                </li>
              ))}
              {changed.map((each) => (
                <li key={each.code}>{t("moveChanges", { name: each.name, of: each.project, project })}</li>
              ))}
              {notes.map((each) => (
                <li key={each}>{each}</li>
              ))}
              {refused.length + changed.length + notes.length === 0 && <li>{t("moveAll")}</li>}
            </ul>
          )}
        </Answer>
      )}
    </FormDialog>
  );
}

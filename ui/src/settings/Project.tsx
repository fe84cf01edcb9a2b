import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { Confirm } from "@/forms/Confirm";
import { faultAt, faultBeside } from "@/forms/faults";
import { Pairs, pairsOf, valuesOf } from "@/forms/Pairs";
import { Refusal } from "@/forms/Refusal";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Defaults } from "./Defaults";
import { Files } from "./Files";
import { Keep } from "./Keep";
import { Limits } from "./Limits";
import { Members } from "./Members";
import { projectOf } from "./queries";
import { SaveProject, useSaveProject } from "./useSaveProject";

/** One project: the parameters and files that its workflows share, its members, what it may use, and its end. */
export function Project({ name, onGone }: { name: string; onGone: () => void }) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const [isDeleting, setIsDeleting] = useState(false);
  const path = { name };
  const found = useQuery(projectOf(name));
  const done = useDone("projects");
  const remove = useMutation({
    mutationFn: () => api.DELETE("/api/v1/projects/{name}", { params: { path } }),
    onSuccess: async () => {
      onGone();
      await done("");
    },
  });
  return (
    <Answer of={found}>
      {(project) => (
        <>
          <SharedParams key={project.version} project={project} />
          <Files project={name} />
          <Members project={name} />
          <Limits project={name} />
          <Defaults key={`defaults ${project.version}`} project={project} />
          <Keep key={`keep ${project.version}`} project={project} />
          <Panel title={t("deleteProject")}>
            <div className="pad form-end">
              <span className="soft">{t("deleteProjectHelp")}</span>
              <Act
                variant="default"
                why={whyNot ?? (project.workflows > 0 ? t("hasWorkflows", { count: project.workflows }) : null)}
                onClick={() => setIsDeleting(true)}
                word={t("delete")}
              />
            </div>
          </Panel>
          {isDeleting && (
            <Confirm
              title={t("deleteNamed", { name })}
              verb={t("delete")}
              sending={remove}
              onClose={() => setIsDeleting(false)}
            >
              <p>{t("deleteProjectHelp")}</p>
            </Confirm>
          )}
        </>
      )}
    </Answer>
  );
}

function SharedParams({ project }: { project: Schemas["ProjectPageAnswer"] }) {
  const { t } = useTranslation("settings");
  const { save, whyNot } = useSaveProject(project);
  const [pairs, setPairs] = useState(() => pairsOf(project.params));
  const params = valuesOf(pairs);
  const isSame = JSON.stringify(params) === JSON.stringify(project.params);
  const without = Object.keys(project.params).filter((name) => !(name in params));
  return (
    <Panel
      title={t("paramsOf", { name: project.name })}
      end={<SaveProject {...{ save, whyNot, isSame }} onSave={() => save.mutate({ params, without })} />}
    >
      <div className="form pad">
        <p className="mute">{t("paramsHelp")}</p>
        <Pairs
          label={t("params")}
          pairs={pairs}
          onChange={setPairs}
          error={faultAt(save.error, "params")}
          whyNot={whyNot}
        />
        <Refusal error={faultBeside(save.error, "params")} />
      </div>
    </Panel>
  );
}

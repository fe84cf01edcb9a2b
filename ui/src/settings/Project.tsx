import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match, type Schemas } from "@/api/client";
import { Confirm } from "@/forms/Confirm";
import { faultAt, faultBeside } from "@/forms/faults";
import { Pairs, pairsOf, valuesOf } from "@/forms/Pairs";
import { Refusal } from "@/forms/Refusal";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Keep } from "./Keep";
import { Limits } from "./Limits";
import { Members } from "./Members";

/** One project: the parameters that its workflows share, its members, what it may use, and its end. */
export function Project({ name, onGone }: { name: string; onGone: () => void }) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const [isDeleting, setIsDeleting] = useState(false);
  const path = { name };
  const found = useQuery({
    queryKey: ["projects", "one", name],
    queryFn: () => api.GET("/api/v1/projects/{name}", { params: { path } }),
    refetchOnWindowFocus: false,
  });
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
          <Members project={name} />
          <Limits project={name} />
          <Keep key={`keep ${project.version}`} project={project} />
          <Panel title={t("deleteProject")}>
            <div className="pad form-end">
              <span className="soft">{t("deleteProjectHelp")}</span>
              <Act
                variant="default"
                why={whyNot ?? (project.workflows > 0 ? t("hasWorkflows", { count: project.workflows }) : null)}
                onClick={() => setIsDeleting(true)}
              >
                {t("delete")}
              </Act>
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
  const whyNot = useWhyNot("OWNER", project.name);
  const [pairs, setPairs] = useState(() => pairsOf(project.params));
  const done = useDone("projects");
  const save = useMutation({
    mutationFn: () => {
      const params = valuesOf(pairs);
      return api.PATCH("/api/v1/projects/{name}", {
        params: { path: { name: project.name }, header: match(project.version) },
        body: { params, without: Object.keys(project.params).filter((name) => !(name in params)) },
      });
    },
    onSuccess: () => done(t("savedNamed", { name: project.name })),
  });
  const isSame = JSON.stringify(valuesOf(pairs)) === JSON.stringify(project.params);
  return (
    <Panel
      title={t("paramsOf", { name: project.name })}
      end={
        <Act
          size="xs"
          loading={save.isPending}
          why={whyNot ?? (isSame ? t("nothingChanged") : null)}
          onClick={() => save.mutate()}
        >
          {t("save")}
        </Act>
      }
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

import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { useProject } from "@/app/ProjectSwitch";
import { Refusal } from "@/forms/Refusal";
import { editedBy, firstOf } from "@/login/edited";
import { me } from "@/login/session";
import { Act } from "@/parts/Act";
import { Panel } from "@/parts/Panel";
import { count } from "@/parts/time";
import { projectList } from "@/settings/queries";
import { Asked } from "./Asked";
import { Found } from "./Found";
import { AT_FIRST, BYTES_MAX, textOf } from "./inputs";
import { Names } from "./Names";
import "./importing.css";

/** Files of other schedulers as workflows: what they become, what differs, and what is saved of them. */
export function ImportPage() {
  const { t } = useTranslation("importing");
  const who = useQuery(me);
  const all = useQuery(projectList);
  const mine = who.data && all.data && editedBy(who.data, all.data);
  const [chosen, setChosen] = useState<string | null>(useProject());
  const project = chosen ?? firstOf(mine ?? []);
  const [files, setFiles] = useState<File[]>([]);
  const [options, setOptions] = useState(AT_FIRST);
  const [found, setFound] = useState<Schemas["ImportAnswer"] | null>(null);
  const read = useMutation({
    mutationFn: async (names: string | null) => {
      const contents = files.map(async (each) => ({
        name: each.name,
        content: textOf(new Uint8Array(await each.arrayBuffer())),
      }));
      const body = { ...options, project: project ?? "default", files: await Promise.all(contents) };
      return api.POST("/api/v1/workflow-definitions:import", { body: { ...body, ...(names !== null && { names }) } });
    },
    onSuccess: setFound,
    retry: false,
  });
  // What is shown is of what was asked.
  const changing =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      set(value);
      setFound(null);
      read.reset();
    };
  const size = files.reduce((sum, each) => sum + each.size, 0);
  const tooLarge = size > BYTES_MAX ? t("tooLarge", { size: count(size), most: count(BYTES_MAX) }) : null;
  const why = files.length === 0 ? t("filesFirst") : mine?.length === 0 ? t("noProject") : tooLarge;
  return (
    <div className="page">
      <div className="page-head">
        <h1>
          <Link to="/workflows" search={{}}>
            {t("workflows")}
          </Link>{" "}
          / {t("title")}
        </h1>
      </div>
      <Panel title={t("what")}>
        <div className="pad stack importing">
          <p className="mute">{t("about")}</p>
          <Asked
            files={files}
            options={options}
            projects={mine ?? []}
            project={project}
            onFiles={changing(setFiles)}
            onOptions={changing(setOptions)}
            onProject={changing(setChosen)}
          />
          <Refusal error={read.error} />
          <div className="line end">
            <Act why={why} loading={read.isPending} onClick={() => read.mutate(null)} word={t("read")} />
          </div>
        </div>
      </Panel>
      {found?.catalog != null && (
        <Names
          key={found.catalog}
          catalog={found.catalog}
          missing={found.missing}
          onNames={(names) => read.mutate(names)}
        />
      )}
      {found && <Found key={read.submittedAt} found={found} />}
    </div>
  );
}

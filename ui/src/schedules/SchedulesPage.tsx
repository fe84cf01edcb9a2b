import { TextInput } from "@mantine/core";
import { IconHistory, IconPlus, IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { workflowsOf } from "@/editor/queries";
import { useTopics } from "@/live/eventSource";
import { useWhyNot } from "@/login/rights";
import { Calendar } from "./Calendar";
import { Editor } from "./Editor";
import { ScheduleList } from "./ScheduleList";
import { filterOf, type Search, searchOf } from "./search";
import "@/forms/forms.css";
import { Act } from "@/parts/Act";
import { LinkAct } from "@/parts/LinkAct";
import "./schedules.css";

/** When workflows start by themselves: how the last days went, what comes, and the rules. */
export function SchedulesPage() {
  const { t } = useTranslation("schedules");
  const search = searchOf(useSearch({ strict: false }));
  const project = useProject();
  const navigate = useNavigate();
  const whyNot = useWhyNot("EDITOR", project);
  useTopics("definitions", "runs");
  const filter = filterOf(search, project);
  const change = (to: Search, replace = true) =>
    void navigate({ to: "/schedules", search: searchOf({ ...search, ...to }), replace, resetScroll: false });
  const { workflow } = search;
  const all = useQuery({ ...workflowsOf(filter.project ?? null), enabled: workflow !== undefined });
  const [one, ...others] = all.data?.items.filter(({ name }) => name === workflow) ?? [];
  const close = () => change({ edit: undefined, add: undefined });
  return (
    <div className="page">
      <div className="page-head">
        <h1>{t("title")}</h1>
        <TextInput
          className="find-schedules"
          aria-label={t("find")}
          placeholder={t("find")}
          leftSection={<IconSearch size={14} />}
          value={search.q ?? ""}
          onChange={(event) => change({ q: event.currentTarget.value })}
        />
        <div className="chips">
          {(["ONLINE", "OFFLINE"] as const).map((state) => (
            <button
              key={state}
              type="button"
              className="chip"
              aria-pressed={search.state === state}
              onClick={() => change({ state: search.state === state ? undefined : state })}
            >
              {t(state === "ONLINE" ? "on" : "off")}
            </button>
          ))}
          {search.workflow !== undefined && (
            <button
              type="button"
              className="chip on"
              aria-label={t("anyWorkflow")}
              onClick={() => change({ workflow: undefined, project: undefined })}
            >
              {t("workflow")} <b>{search.workflow}</b> ×
            </button>
          )}
        </div>
        <div className="end">
          <LinkAct
            to="/schedules/backfill"
            search={one !== undefined && others.length === 0 ? { code: one.code } : {}}
            leftSection={<IconHistory size={16} stroke={1.5} />}
            size="sm"
            word={t("backfill")}
          />
          <Act
            why={whyNot}
            leftSection={<IconPlus size={16} stroke={1.5} />}
            onClick={() => change({ add: "" }, false)}
            word={t("new")}
          />
        </div>
      </div>
      <Calendar search={search} filter={filter} onChange={change} />
      <ScheduleList search={search} filter={filter} onChange={change} />
      {(search.edit !== undefined || search.add !== undefined) && (
        <Editor key={search.edit ?? "new"} id={search.edit ?? null} workflow={search.add ?? ""} onClose={close} />
      )}
    </div>
  );
}

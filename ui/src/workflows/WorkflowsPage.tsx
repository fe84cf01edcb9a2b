import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { IconPlus, IconSearch, IconTopologyStar3 } from "@tabler/icons-react";
import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { useTopics } from "@/live/browser";
import { Answer, Empty } from "@/parts/Answer";
import { More } from "@/parts/More";
import { BulkBar } from "./BulkBar";
import { NewWorkflow } from "./NewWorkflow";
import { barsOf, draftsIn, schedulesIn, type Workflow, type WorkflowFilter, workflowsOf } from "./queries";
import { WorkflowTable } from "./WorkflowTable";
import "@/lists/lists.css";
import "./workflows.css";

const STATES = ["all", "ONLINE", "OFFLINE", "draft"] as const;
type Shown = (typeof STATES)[number];

interface Search {
  q?: string;
  state?: Shown;
  create?: true;
}

function checked(given: Record<string, unknown>): Search {
  return {
    q: typeof given.q === "string" && given.q !== "" ? given.q : undefined,
    state: STATES.find((state) => state !== "all" && state === given.state),
    create: given.create === true ? true : undefined,
  };
}

/** All workflows: how their last runs went, when they start next, and what can be done with several of them. */
export function WorkflowsPage() {
  const { t } = useTranslation("workflows");
  const search = checked(useSearch({ strict: false }) as Record<string, unknown>);
  const navigate = useNavigate();
  const project = useProject() ?? undefined;
  useTopics("definitions", "runs");
  const [selected, setSelected] = useState<ReadonlyMap<string, Workflow>>(new Map());
  const shown = search.state ?? "all";
  const filter: WorkflowFilter = {
    ...(project !== undefined && { project }),
    ...(search.q !== undefined && { q: search.q }),
    ...((shown === "ONLINE" || shown === "OFFLINE") && { release_state: shown }),
  };
  const found = useInfiniteQuery(workflowsOf(filter));
  const pages = found.data?.pages ?? [];
  const bars = useQueries({ queries: pages.map((page) => barsOf(page.items.map((each) => each.code))) });
  const schedules = useQuery(schedulesIn(project));
  const drafts = useQuery(draftsIn(project));
  const own = (drafts.data?.items ?? []).filter((each) => each.name.includes(search.q ?? ""));
  const draftKeys = new Set(own.map((each) => `${each.project}/${each.name}`));
  const all = pages.flatMap((page) => page.items);
  const items = shown === "draft" ? all.filter((each) => draftKeys.has(`${each.project}/${each.name}`)) : all;
  const known = new Set(all.map((each) => `${each.project}/${each.name}`));
  const isNew = (each: (typeof own)[number]) => each.code == null && !known.has(`${each.project}/${each.name}`);
  const unpublished = shown === "all" || shown === "draft" ? own.filter(isNew) : [];
  const change = (part: Search) =>
    void navigate({
      to: ".",
      search: (before: Record<string, unknown>) => ({ ...before, ...part }),
      replace: true,
    });
  const isFiltered = search.q !== undefined || shown !== "all";
  const create = (
    <Button leftSection={<IconPlus size={14} aria-hidden />} onClick={() => change({ create: true })}>
      {t("new")}
    </Button>
  );
  return (
    <div className="page">
      <div className="page-head">
        <h1>{t("title")}</h1>
        <TextInput
          className="workflows-find"
          aria-label={t("find")}
          placeholder={t("find")}
          leftSection={<IconSearch size={14} aria-hidden />}
          value={search.q ?? ""}
          onChange={(event) => change({ q: event.currentTarget.value || undefined })}
        />
        <SegmentedControl
          size="xs"
          aria-label={t("shown")}
          value={shown}
          onChange={(state) => change({ state: state === "all" ? undefined : (state as Shown) })}
          data={STATES.map((value) => ({ value, label: t(`shown.${value}`) }))}
        />
        <div className="end">
          <Button
            variant="default"
            leftSection={<IconTopologyStar3 size={14} aria-hidden />}
            renderRoot={(props) => <Link to="/relations" {...props} />}
          >
            {t("relations")}
          </Button>
          {create}
        </div>
      </div>
      <section className="panel">
        {selected.size > 0 && <BulkBar selected={[...selected.values()]} onForget={() => setSelected(new Map())} />}
        <Answer
          of={found}
          lines={8}
          isEmpty={() => items.length === 0 && unpublished.length === 0}
          empty={
            <Empty title={t(isFiltered ? "noneMatch" : "none")}>
              <p className="mute">{t(isFiltered ? "noneMatchHelp" : "noneHelp")}</p>
              {isFiltered ? (
                <Button variant="default" onClick={() => change({ q: undefined, state: undefined })}>
                  {t("showAll")}
                </Button>
              ) : (
                create
              )}
            </Empty>
          }
        >
          {() => (
            <WorkflowTable
              items={items}
              unpublished={unpublished}
              drafts={draftKeys}
              bars={new Map(bars.flatMap((each) => each.data?.items ?? []).map((each) => [each.code, each]))}
              schedules={schedules.data?.items ?? []}
              hasProject={project === undefined}
              selected={selected}
              onSelect={setSelected}
            />
          )}
        </Answer>
        <More of={found} word={t("more")} />
      </section>
      {search.create && <NewWorkflow project={project} onClose={() => change({ create: undefined })} />}
    </div>
  );
}

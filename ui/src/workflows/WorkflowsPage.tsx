import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { IconFileImport, IconPlus, IconSearch, IconTopologyStar3, IconX } from "@tabler/icons-react";
import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { textOf } from "@/lists/filters";
import { useTopics } from "@/live/eventSource";
import { Answer, Empty } from "@/parts/Answer";
import { More } from "@/parts/More";
import { BulkBar } from "./BulkBar";
import { NewWorkflow } from "./NewWorkflow";
import { barsOf, draftsIn, schedulesIn, type Workflow, type WorkflowFilter, workflowsOf } from "./queries";
import { WorkflowTable } from "./WorkflowTable";
import "@/lists/lists.css";
import { Act } from "@/parts/Act";
import { LinkAct } from "@/parts/LinkAct";
import { useAddress } from "@/parts/useAddress";
import "./workflows.css";

const STATES = ["all", "ONLINE", "OFFLINE", "draft"] as const;
type Shown = (typeof STATES)[number];

interface Search {
  q?: string;
  tag?: string;
  state?: Shown;
  create?: true;
}

function checked(given: Record<string, unknown>): Search {
  return {
    q: textOf(given, "q"),
    tag: textOf(given, "tag"),
    state: STATES.find((state) => state !== "all" && state === given.state),
    create: given.create === true ? true : undefined,
  };
}

/** All workflows: how their last runs went, when they start next, and what can be done with several of them. */
export function WorkflowsPage() {
  const { t } = useTranslation("workflows");
  const search = checked(useSearch({ strict: false }) as Record<string, unknown>);
  const project = useProject() ?? undefined;
  useTopics("definitions", "runs");
  const [selected, setSelected] = useState<ReadonlyMap<string, Workflow>>(new Map());
  const shown = search.state ?? "all";
  const { found, items, drafts, unpublished } = useShown(project, search.q, search.tag, shown);
  const bars = useQueries({
    queries: (found.data?.pages ?? []).map((page) => barsOf(page.items.map((each) => each.code))),
  });
  const schedules = useQuery(schedulesIn(project));
  const change = useAddress<Search>();
  const isFiltered = search.q !== undefined || search.tag !== undefined || shown !== "all";
  const create = (
    <Act leftSection={<IconPlus size={14} aria-hidden />} onClick={() => change({ create: true })} word={t("new")} />
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
          onChange={(event) => change({ q: event.currentTarget.value })}
        />
        {search.tag !== undefined && (
          <Button
            size="xs"
            variant="default"
            rightSection={<IconX size={12} aria-hidden />}
            aria-label={t("withoutTag", { tag: search.tag })}
            onClick={() => change({ tag: undefined })}
          >
            {search.tag}
          </Button>
        )}
        <SegmentedControl
          size="xs"
          aria-label={t("shown")}
          value={shown}
          onChange={(state) => change({ state: state === "all" ? undefined : (state as Shown) })}
          data={STATES.map((value) => ({ value, label: t(`shown.${value}`) }))}
        />
        <div className="end">
          <Ways />
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
                <Act
                  variant="default"
                  onClick={() => change({ q: undefined, tag: undefined, state: undefined })}
                  word={t("showAll")}
                />
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
              drafts={drafts}
              bars={new Map(bars.flatMap((each) => each.data?.items ?? []).map((each) => [each.code, each]))}
              schedules={schedules.data?.items ?? []}
              isWhole={!found.hasNextPage}
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

/** The pages beside the list. */
function Ways() {
  const { t } = useTranslation("workflows");
  const icon = { size: 14, "aria-hidden": true } as const;
  return (
    <>
      <LinkAct to="/relations" leftSection={<IconTopologyStar3 {...icon} />} size="sm" word={t("relations")} />
      <LinkAct to="/workflows/import" leftSection={<IconFileImport {...icon} />} size="sm" word={t("import")} />
    </>
  );
}

/** The workflows that match, and the caller's own drafts. */
function useShown(project: string | undefined, q: string | undefined, tag: string | undefined, shown: Shown) {
  const filter: WorkflowFilter = {
    ...(project !== undefined && { project }),
    ...(q !== undefined && { q }),
    ...(tag !== undefined && { tag: [tag] }),
    ...((shown === "ONLINE" || shown === "OFFLINE") && { release_state: shown }),
  };
  const found = useInfiniteQuery(workflowsOf(filter));
  const drafted = useQuery(draftsIn(project));
  const all = found.data?.items ?? [];
  const own = (drafted.data?.items ?? []).filter((each) => each.name.includes(q ?? ""));
  const drafts = new Set(own.map(keyOf));
  const known = new Set(all.map(keyOf));
  return {
    found,
    items: shown === "draft" ? all.filter((each) => drafts.has(keyOf(each))) : all,
    /** `project/name` of those of which there is a draft. */
    drafts,
    /** Drafts of workflows that do not exist yet. */
    unpublished: own.filter(
      (each) => filter.release_state === undefined && tag === undefined && each.code == null && !known.has(keyOf(each)),
    ),
  };
}

function keyOf({ project, name }: { project: string; name: string }): string {
  return `${project}/${name}`;
}

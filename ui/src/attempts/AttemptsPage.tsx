import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { type Filters, textOf, textsOf, useFilters } from "@/lists/filters";
import { ListHead } from "@/lists/ListHead";
import { ListPanel } from "@/lists/ListPanel";
import { useRowKeys } from "@/lists/useRowKeys";
import "@/lists/lists.css";
import { workers } from "@/cluster/queries";
import { taskTypes } from "@/editor/queries";
import { ChoiceChip } from "@/lists/ChoiceChip";
import { FilterBar } from "@/lists/FilterBar";
import { TextChip } from "@/lists/TextChip";
import { useTopics } from "@/live/eventSource";
import { workflowNames } from "@/runs/queries";
import { WhyDialog } from "@/runs/WhyDialog";
import { AttemptTable } from "./AttemptTable";
import { attemptFilterOf, attemptsPage, PAGE, STATES } from "./queries";

const VIEWS = {
  all: {},
  running: { state: ["RUNNING_EXECUTION"] },
  waiting: { state: ["QUEUED", "DISPATCH", "DELAY_EXECUTION"] },
  failed: { since: "7d", state: ["FAILURE"] },
  lost: { state: ["NEED_FAULT_TOLERANCE"] },
};
const KEYS = ["/", "j", "k", "Enter", "w", "l", "?"];

/** Attempts of tasks across all runs, newest first, by the filters in the address. */
export function AttemptsPage() {
  // All words of the page at once: a part that waits for its words would blank the page.
  const { t } = useTranslation(["attempts", "lists", "runs"]);
  const project = useProject();
  const navigate = useNavigate();
  const filters = useFilters();
  const { search, place } = filters;
  const [isHelp, setIsHelp] = useState(false);
  useTopics("runs");
  const filter = useMemo(() => attemptFilterOf(search, project), [search, project]);
  const found = useQuery(attemptsPage(filter, textOf(search, "cursor")));
  const attempts = useMemo(() => found.data?.items ?? [], [found.data]);
  const ids = useMemo(() => attempts.map((each) => each.id), [attempts]);
  const why = attempts.find((each) => each.id === textOf(search, "why"));
  const open = (tab?: string) => (id: string) => {
    const attempt = attempts.find((each) => each.id === id);
    if (attempt === undefined) return;
    const of = { task: attempt.name, ...(tab !== undefined && { tab }) };
    void navigate({ to: "/runs/$id", params: { id: attempt.run_id }, search: of });
  };
  const at = textOf(search, "row") ?? null;
  useRowKeys({
    ids,
    at,
    go: (row) => place({ row }),
    help: () => setIsHelp(true),
    keys: { enter: open(), l: open("logs"), w: (id) => place({ why: id }) },
  });
  return (
    <div className="page">
      <ListHead
        words="attempts"
        list="task-instances"
        views={VIEWS}
        filters={filters}
        keys={KEYS}
        isHelp={isHelp}
        onHelp={setIsHelp}
      >
        <Button size="xs" variant="default" component={Link} to="/runs">
          {t("runs")}
        </Button>
      </ListHead>
      <AttemptFilters filters={filters} />
      <ListPanel title={t("title")} words="attempts" of={found} filters={filters} size={PAGE} number={null}>
        {(items) => <AttemptTable attempts={items} at={at} onGo={(row) => place({ row })} />}
      </ListPanel>
      {why !== undefined && <WhyDialog run={why.run_id} task={why.name} onClose={() => place({ why: undefined })} />}
    </div>
  );
}

/** The filters of attempts. */
function AttemptFilters({ filters }: { filters: Filters }) {
  const { t } = useTranslation("attempts");
  const { search, change } = filters;
  const workflows = useQuery(workflowNames(useProject()));
  const found = useQuery(workers);
  const types = useQuery(taskTypes);
  const groups = [...new Set(found.data?.items.flatMap((each) => each.groups ?? []) ?? [])];
  const text = (word: "name" | "workflow" | "worker" | "worker_group", known?: string[]) => (
    <TextChip
      name={t(word)}
      value={textOf(search, word)}
      {...(known && { known })}
      onChange={(value) => change({ [word]: value })}
    />
  );
  return (
    <FilterBar filters={filters} hint={t("searchHint")} states={STATES}>
      <ChoiceChip
        name={t("type")}
        all={types.data?.items.map((each) => each.name) ?? []}
        chosen={textsOf(search, "type")}
        label={(type) => type}
        text={(type) => type}
        onChange={(type) => change({ type })}
      />
      {text("name")}
      {text("workflow", workflows.data?.items.map((each) => each.name) ?? [])}
      {text("worker", found.data?.items.map((each) => each.name) ?? [])}
      {text("worker_group", groups)}
    </FilterBar>
  );
}

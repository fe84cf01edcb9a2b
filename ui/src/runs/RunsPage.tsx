import { IconPlayerPlay } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { textOf, useFilters } from "@/lists/filters";
import { HistogramPanel } from "@/lists/Histogram";
import { ListHead } from "@/lists/ListHead";
import { ListPanel } from "@/lists/ListPanel";
import { useRowKeys } from "@/lists/useRowKeys";
import "@/lists/lists.css";
import { useTopics } from "@/live/eventSource";
import { useMay } from "@/login/rights";
import { palette } from "@/palette/open";
import { Act, SmallAct } from "@/parts/Act";
import { Dialog } from "@/parts/Dialog";
import { BulkBar } from "./BulkBar";
import { BulkDialog } from "./BulkDialog";
import { ExportMenu } from "./ExportMenu";
import { OperationState } from "./OperationState";
import { PAGE, type Run, runCount, runHistogram, runsPage } from "./queries";
import { RunFilters } from "./RunFilters";
import { RunTable } from "./RunTable";
import { numberOf, type RunFilter, runFilterOf } from "./runFilter";
import "./runs.css";
import { type Action, rerunOf, type Selection, type Target, toggled } from "./selection";
import { WhyDialog } from "./WhyDialog";

const NONE: Selection = new Set();
const VIEWS = {
  all: {},
  day: { since: "24h" },
  failed: { state: ["FAILURE"], since: "7d" },
  running: { state: ["RUNNING_EXECUTION"] },
  backfills: { trigger: ["BACKFILL"] },
};
const KEYS = ["/", "j", "k", "Enter", "x", "r", "w", "l", "?"];

/** All runs, newest first, by the filters in the address; what can be done with one or many of them. */
export function RunsPage() {
  // All words of the page at once: a part that waits for its words would blank the page.
  const { t } = useTranslation(["runs", "lists"]);
  const project = useProject();
  const filters = useFilters();
  const { search, place } = filters;
  const filter = useMemo(() => runFilterOf(search, project), [search, project]);
  const { selection, isAll, select } = useSelection(filter);
  const [doing, setDoing] = useState<{ action: Action; target: Target }>();
  const [isHelp, setIsHelp] = useState(false);
  useTopics("runs");

  const found = useQuery(runsPage(filter, textOf(search, "cursor")));
  const counted = useQuery(runCount(filter));
  const number = counted.data === undefined ? null : numberOf(counted.data);
  const runs = useMemo(() => found.data?.items ?? [], [found.data]);
  const histogram = useQuery(runHistogram(filter));
  const mayOperate = useMay("OPERATOR", project);

  const at = textOf(search, "row") ?? null;
  const why = textOf(search, "why");
  const operation = textOf(search, "operation");
  useRunKeys(runs, {
    onHelp: () => setIsHelp(true),
    onSelect: (id) => select(toggled(selection, id)),
    onAct: (action, id) => mayOperate && setDoing({ action, target: { ids: [id] } }),
  });
  return (
    <div className="page">
      <ListHead
        words="runs"
        list="workflow-instances"
        views={VIEWS}
        filters={filters}
        keys={KEYS}
        isHelp={isHelp}
        onHelp={setIsHelp}
      >
        <ExportMenu filter={filter} />
        <Act
          size="xs"
          leftSection={<IconPlayerPlay size={14} stroke={1.5} />}
          onClick={() => palette.set("start")}
          word={t("start")}
        />
      </ListHead>
      <RunFilters filters={filters} />
      <HistogramPanel
        found={histogram}
        number={number}
        onRange={(from, to) => filters.change({ since: undefined, started_after: from, started_before: to })}
      />
      <ListPanel
        title={t("title")}
        words="runs"
        of={found}
        filters={filters}
        size={PAGE}
        number={number}
        head={
          (selection.size > 0 || isAll) && (
            <BulkBar
              selected={isAll ? null : selection.size}
              number={number}
              forbidden={mayOperate ? "" : t("mayNot")}
              onAll={() => select(new Set(runs.map((run) => run.id)), true)}
              onNone={() => select(NONE)}
              onAct={(action) => setDoing({ action, target: isAll ? { filter } : { ids: [...selection] } })}
            />
          )
        }
        hint={<span className="wide-only">{t("medianHint")}</span>}
      >
        {(items) => (
          <RunTable runs={items} selection={selection} onSelect={select} at={at} onGo={(row) => place({ row })} />
        )}
      </ListPanel>
      {doing !== undefined && (
        <BulkDialog
          {...doing}
          onClose={() => setDoing(undefined)}
          onOperation={(id) => {
            setDoing(undefined);
            place({ operation: id });
          }}
        />
      )}
      {operation !== undefined && <OperationDialog id={operation} onClose={() => place({ operation: undefined })} />}
      {why !== undefined && <WhyDialog run={why} onClose={() => place({ why: undefined })} />}
    </div>
  );
}

interface OnKeys {
  onHelp: () => void;
  onSelect: (id: string) => void;
  onAct: (action: Action, id: string) => void;
}

/** The keys of the list; the row that they are about is in the address. */
function useRunKeys(runs: Run[], { onHelp, onSelect, onAct }: OnKeys): void {
  const navigate = useNavigate();
  const { search, place } = useFilters();
  const ids = useMemo(() => runs.map((run) => run.id), [runs]);
  const open = (id: string, tab: { tab?: "logs" } = {}) =>
    void navigate({ to: "/runs/$id", params: { id }, search: tab });
  useRowKeys({
    ids,
    at: textOf(search, "row") ?? null,
    go: (row) => place({ row }),
    help: onHelp,
    keys: {
      enter: (id) => open(id),
      l: (id) => open(id, { tab: "logs" }),
      r: (id) => {
        const run = runs.find((each) => each.id === id);
        if (run !== undefined) onAct(rerunOf(run), id);
      },
      w: (id) => place({ why: id }),
      x: onSelect,
    },
  });
}

/** Which runs are selected. What was selected under another filter is no longer selected. */
function useSelection(filter: RunFilter) {
  const [selected, setSelected] = useState<{ of: string; ids: Selection; isAll: boolean }>();
  const of = JSON.stringify(filter);
  const isOfThese = selected?.of === of;
  return {
    selection: isOfThese ? selected.ids : NONE,
    /** All that match are meant, not those of this page alone. */
    isAll: isOfThese && selected.isAll,
    select: (ids: Selection, isAll = false) => setSelected({ of, ids, isAll }),
  };
}

/** The operation that the address names. */
function OperationDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation("runs");
  return (
    <Dialog onClose={onClose} title={t("operation", { id })}>
      <div className="stack" aria-live="polite">
        <OperationState id={id} />
        <div className="line end">
          <SmallAct onClick={onClose} word={t("close")} />
        </div>
      </div>
    </Dialog>
  );
}

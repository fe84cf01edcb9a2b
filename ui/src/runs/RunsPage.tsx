import { Button } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { slots } from "@/cluster/queries";
import { filterWords, textOf, useFilters } from "@/lists/filters";
import { HistogramPanel } from "@/lists/Histogram";
import { ListHead } from "@/lists/ListHead";
import { Pager } from "@/lists/Pager";
import { useRowKeys } from "@/lists/useRowKeys";
import "@/lists/lists.css";
import { useTopics } from "@/live/browser";
import { useMay } from "@/login/rights";
import { openPalette } from "@/palette/open";
import { Answer, Empty } from "@/parts/Answer";
import { BulkBar } from "./BulkBar";
import { BulkDialog } from "./BulkDialog";
import { ExportMenu } from "./ExportMenu";
import { OperationDialog } from "./OperationDialog";
import { lastRunsOf, PAGE, progressOf, runCount, runHistogram, runsPage } from "./queries";
import { RunFilters } from "./RunFilters";
import { RunTable } from "./RunTable";
import { numberOf, runFilterOf } from "./runFilter";
import "./runs.css";
import { type Action, rerunOf, type Selection, type Target } from "./selection";
import { WhyDialog } from "./WhyDialog";

const NONE: Selection = new Set();

/** All runs, newest first, by the filters in the address; what can be done with one or many of them. */
export function RunsPage() {
  // All words of the page at once: a part that waits for its words would blank the page.
  const { t } = useTranslation(["runs", "lists"]);
  const project = useProject();
  const navigate = useNavigate();
  const filters = useFilters();
  const { search, place } = filters;
  const filter = useMemo(() => runFilterOf(search, project), [search, project]);
  const words = JSON.stringify(filter);
  const [selected, setSelected] = useState<{ of: string; ids: Selection; isAll: boolean }>();
  const [doing, setDoing] = useState<{ action: Action; target: Target }>();
  const [isHelp, setIsHelp] = useState(false);
  useTopics("runs");

  const found = useQuery(runsPage(filter, textOf(search, "cursor")));
  const counted = useQuery(runCount(filter));
  const number = counted.data === undefined ? null : numberOf(counted.data);
  const runs = useMemo(() => found.data?.items ?? [], [found.data]);
  const ids = useMemo(() => runs.map((run) => run.id), [runs]);
  const progress = useQuery(progressOf(ids));
  const usual = useQuery(lastRunsOf([...new Set(runs.map((run) => run.workflow_code))].sort(), 1));
  const histogram = useQuery(runHistogram(filter));
  const masters = useQuery(slots);
  const mayOperate = useMay("OPERATOR", project);

  // What was selected under other filters is not selected any more.
  const selection = selected?.of === words ? selected.ids : NONE;
  const isAll = selected?.of === words && selected.isAll;
  const select = (wanted: Selection, all = false) => setSelected({ of: words, ids: wanted, isAll: all });
  const at = textOf(search, "row") ?? null;
  const why = textOf(search, "why");
  const operation = textOf(search, "operation");
  const one = (id: string, act: (run: (typeof runs)[number]) => Action) => {
    const run = runs.find((each) => each.id === id);
    if (run !== undefined && mayOperate) setDoing({ action: act(run), target: { ids: [id] } });
  };
  useRowKeys({
    ids,
    at,
    go: (row) => place({ row }),
    help: () => setIsHelp(true),
    keys: {
      enter: (id) => void navigate({ to: "/runs/$id", params: { id }, search: {} }),
      l: (id) => void navigate({ to: "/runs/$id", params: { id }, search: { tab: "logs" } }),
      r: (id) => one(id, rerunOf),
      w: (id) => place({ why: id }),
      x: (id) =>
        select(
          new Set([...selection].includes(id) ? [...selection].filter((each) => each !== id) : [...selection, id]),
        ),
    },
  });
  const builtIn = [
    { name: t("view.all"), filter: {} },
    { name: t("view.day"), filter: { since: "24h" } },
    { name: t("view.failed"), filter: { state: ["FAILURE"], since: "7d" } },
    { name: t("view.running"), filter: { state: ["RUNNING_EXECUTION"] } },
    { name: t("view.backfills"), filter: { trigger: ["BACKFILL"] } },
  ];
  return (
    <div className="page">
      <ListHead
        title={t("title")}
        list="workflow-instances"
        builtIn={builtIn}
        filters={filters}
        keys={["/", "j", "k", "Enter", "x", "r", "w", "l", "?"].map((key) => [key, t(`key.${key}`)])}
        isHelp={isHelp}
        onHelp={setIsHelp}
      >
        <ExportMenu filter={filter} />
        <Button size="xs" leftSection={<IconPlayerPlay size={14} stroke={1.5} />} onClick={() => openPalette("start")}>
          {t("start")}
        </Button>
      </ListHead>
      <RunFilters filters={filters} />
      <HistogramPanel
        found={histogram}
        number={number}
        onRange={(from, to) => filters.change({ since: undefined, started_after: from, started_before: to })}
      />
      <section className="panel" aria-label={t("title")} aria-busy={found.isPlaceholderData}>
        {(selection.size > 0 || isAll) && (
          <BulkBar
            selected={isAll ? null : selection.size}
            number={number}
            forbidden={mayOperate ? "" : t("mayNot")}
            onAll={() => select(new Set(ids), true)}
            onNone={() => select(NONE)}
            onAct={(action) => setDoing({ action, target: isAll ? { filter } : { ids: [...selection] } })}
          />
        )}
        <Answer
          of={found}
          lines={10}
          empty={
            <Empty title={t("none")}>
              <p>{Object.keys(filterWords(search)).length > 0 ? t("noneFiltered") : t("noneYet")}</p>
            </Empty>
          }
        >
          {() => (
            <RunTable
              runs={runs}
              progress={new Map(progress.data?.items.map((each) => [each.id, each]))}
              usual={new Map(usual.data?.items.map((each) => [each.code, each.usual_s]))}
              masters={
                new Map(masters.data?.masters.map((each) => [each.epoch, `${each.name} ${each.believes ?? ""}`]))
              }
              selection={selection}
              onSelect={(wanted) => select(wanted)}
              at={at}
              onGo={(row) => place({ row })}
            />
          )}
        </Answer>
        {(runs.length > 0 || found.data?.has_more) && (
          <footer>
            <span className="wide-only">{t("medianHint")}</span>
            <div className="end">
              <Pager
                filters={filters}
                next={found.data?.has_more ? found.data.next_cursor : null}
                size={PAGE}
                shown={runs.length}
                number={number}
              />
            </div>
          </footer>
        )}
      </section>
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

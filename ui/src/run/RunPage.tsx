import { useHotkeys } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useTopics } from "@/live/eventSource";
import { useMay } from "@/login/rights";
import { Answer, Skeleton } from "@/parts/Answer";
import { RunProvider, useRun } from "./context";
import { useChange, whyNot } from "./header/changes";
import { Outcome } from "./header/Outcome";
import { RunHeader } from "./header/RunHeader";
import { ENDED, focusOf, hasLiveElements, tasksOf } from "./model";
import { ELEMENTS_EVERY_MS, nodeNames, type RunPage as Run, runOf } from "./queries";
import { TABS, type Tab, useRunSearch } from "./search";
import { TaskMenu } from "./tasks/TaskMenu";
import { TaskTable } from "./tasks/TaskTable";
import { useProgress } from "./useProgress";
import { WhyPanel } from "./why/WhyPanel";
import "./run.css";

const loadGraph = () => import("./graph/GraphTab");
const GraphTab = lazy(async () => ({ default: (await loadGraph()).GraphTab }));
const GridTab = lazy(async () => ({ default: (await import("./grid/GridTab")).GridTab }));
const LogsTab = lazy(async () => ({ default: (await import("./log/LogsTab")).LogsTab }));
const LogPane = lazy(async () => ({ default: (await import("./log/LogPane")).LogPane }));
const EventsTab = lazy(async () => ({ default: (await import("./events/EventsTab")).EventsTab }));
const ParametersTab = lazy(async () => ({ default: (await import("./parameters/ParametersTab")).ParametersTab }));

/** One run: how far it is, its tasks, their logs, and what can be done with it. */
export function RunPage() {
  const { id } = useParams({ strict: false });
  const run = useQuery({
    ...runOf(id ?? ""),
    refetchInterval: ({ state }) => (hasLiveElements(state.data) ? ELEMENTS_EVERY_MS : false),
  });
  const isGraph = useRunSearch()[0].tab === undefined;
  useEffect(() => {
    if (isGraph) void loadGraph();
  }, [isGraph]);
  useTopics(`run:${id}`, "definitions");
  return (
    <div className="page run-page">
      <Answer of={run} lines={10}>
        {(data) => <Loaded key={data.id} read={data} />}
      </Answer>
    </div>
  );
}

function Loaded({ read }: { read: Run }) {
  const { t } = useTranslation("run");
  const [search, go] = useRunSearch();
  const run = useProgress(read);
  const [menu, setMenu] = useState<{ name: string; x: number; y: number } | null>(null);
  const names = useQuery({ ...nodeNames, retry: false });
  const mayOperate = useMay("OPERATOR", run.project ?? null);
  const asking = useChange(run);
  const tasks = useMemo(() => tasksOf(run), [run]);
  const focus = useMemo(() => tasks.find((task) => task.name === search.task) ?? focusOf(tasks), [tasks, search.task]);
  const nodeName = useCallback(
    (of: string | null | undefined, address: string | null | undefined) =>
      names.data?.[of ?? ""] ?? address ?? of ?? "",
    [names.data],
  );
  const openMenu = useCallback((name: string, x: number, y: number) => setMenu({ name, x, y }), []);
  useHotkeys([
    ["l", () => go({ tab: "logs" })],
    ["g", () => go({ tab: undefined })],
    ["w", () => document.getElementById("why")?.focus()],
    ["r", () => document.getElementById("rerun")?.click()],
  ]);
  const tab = search.tab ?? "graph";
  const change = asking.mutate;
  const isChanging = asking.isPending;
  const context = useMemo(
    () => ({
      ...{ run, tasks, focus, search, go, change, isChanging, openMenu, nodeName },
      whyNot: whyNot(run.state, mayOperate),
    }),
    [run, tasks, focus, search, go, change, isChanging, openMenu, nodeName, mayOperate],
  );
  return (
    <RunProvider value={context}>
      <RunHeader />
      <Outcome changed={asking.data} error={asking.error} version={run.version} close={asking.reset} />
      {run.reason && ENDED.includes(run.state) && <p className="run-reason">{run.reason}</p>}
      <nav className="tabs" aria-label={t("views")}>
        {TABS.map((each) => (
          <Link
            key={each}
            to="."
            search={(old: Record<string, unknown>) => ({ ...old, tab: each === "graph" ? undefined : each })}
            aria-current={tab === each ? "page" : undefined}
            activeOptions={{ includeSearch: true, exact: true }}
            replace
            resetScroll={false}
          >
            {t(`tab.${each}`)}
          </Link>
        ))}
      </nav>
      <Suspense fallback={<Skeleton lines={8} />}>
        <Body tab={tab} />
      </Suspense>
      {menu !== null && <TaskMenu {...menu} close={() => setMenu(null)} />}
    </RunProvider>
  );
}

/** What a tab shows. Next to graph and bars are why and log of the selected task. */
function Body({ tab }: { tab: Tab }) {
  const { focus } = useRun();
  if (tab === "grid") return <GridTab />;
  if (tab === "logs") return <LogsTab />;
  if (tab === "events") return <EventsTab />;
  if (tab === "parameters") return <ParametersTab />;
  return (
    <div className="split">
      <div>
        {tab === "graph" && (
          <Suspense fallback={<div className="run-graph" />}>
            <GraphTab />
          </Suspense>
        )}
        <TaskTable isTall={tab === "gantt"} />
      </div>
      <div className="side">
        <WhyPanel />
        {focus !== null && focus.last?.type !== "APPROVAL" && (
          <Suspense fallback={null}>
            <LogPane key={focus.name} task={focus} isTall={false} />
          </Suspense>
        )}
      </div>
    </div>
  );
}

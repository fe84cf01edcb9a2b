import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useTopics } from "@/live/eventSource";
import { Answer, Empty, Failure, Skeleton } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { ScrollX } from "@/parts/ScrollX";
import { FiguresPanel } from "../figures/FiguresPanel";
import { GroupsTable } from "../GroupsTable";
import { receipt, workerGroups, workers } from "../queries";
import { useClusterSearch } from "../search";
import { Agreement } from "./Agreement";
import { type Clock, timeOf } from "./clock";
import { HeatStrip } from "./HeatStrip";
import { QueuePanel } from "./QueuePanel";
import { Receipt } from "./Receipt";
import { SlotsTable } from "./SlotsTable";
import { Stage } from "./Stage";
import { StageBar } from "./StageBar";
import { type Change, isEnd, placeAt, type Story } from "./story";
import { useIsShown } from "./useIsShown";
import { useStory } from "./useStory";

const LANES_MAX = 12;
const STRIP_MAX = 64;
const RECEIPT_MS = 900_000;

/** The slots at work: live, or any moment of the last 24 hours. */
export function SlotsTab() {
  const { t } = useTranslation("cluster");
  useTopics("cluster", "queue");
  const [search, change] = useClusterSearch();
  const panel = useRef<HTMLElement>(null);
  const isShown = useIsShown(panel);
  const [playing, setPlaying] = useState<{ fromMs: number; since: number; speed: number } | null>(null);
  const [shownMs, setShownMs] = useState(() => Date.now());
  const isLive = search.at === undefined && playing === null;
  const told = useStory(isShown, isLive ? null : shownMs);
  const { story, live } = told;
  const offsetMs = live?.offsetMs;
  const clock = useMemo((): Clock => {
    if (playing !== null) return { kind: "replay", ...playing };
    if (search.at !== undefined) return { kind: "still", atMs: Date.parse(search.at) };
    return { kind: "live", offsetMs: offsetMs ?? Date.now() - performance.now() };
  }, [playing, search.at, offsetMs]);

  // A replay that has reached the present is live.
  const liveMs = timeOf({ kind: "live", offsetMs: offsetMs ?? 0 }, performance.now());
  useEffect(() => {
    if (playing !== null && offsetMs !== undefined && shownMs >= liveMs) setPlaying(null);
  }, [playing, shownMs, liveMs, offsetMs]);

  /** Show this moment, still; null = live. */
  const show = (ms: number | null) => {
    setPlaying(null);
    if (ms !== null) setShownMs(ms);
    change({ at: ms === null ? undefined : new Date(ms).toISOString() });
  };
  const play = (fromMs: number, speed: number) => {
    change({ at: undefined });
    setPlaying({ fromMs, since: performance.now(), speed });
    setShownMs(fromMs);
  };

  const gone = story && latestGone(story, shownMs);
  const cost = useQuery({
    ...receipt(gone?.number ?? 0),
    enabled: isShown && gone != null,
    refetchInterval: (query) => (isLive && gone != null && !isComplete(query.state.data) ? 1_500 : false),
  });
  if (told.error !== null && story === null) return <Failure error={told.error} again={told.again} />;
  const total = story?.changes[placeAt(story.changes, shownMs)]?.members.length ?? 0;
  const isPicture = search.view !== "table" && total <= LANES_MAX;
  const table = story && <SlotsTable story={story} ms={shownMs} live={isLive ? live : undefined} />;
  return (
    <>
      <section className="panel slots" aria-label={t("slotsLive")} ref={panel}>
        {story === null ? (
          live !== undefined && live.frame.slots.total === 0 ? (
            <Empty title={t(live.frame.slots.masters.length === 0 ? "noMasters" : "noSlots")}>
              <p>
                {t("startMaster")} <code>shoal master</code>
              </p>
            </Empty>
          ) : (
            <Skeleton lines={8} />
          )
        ) : (
          <>
            <StageBar
              story={story}
              shownMs={shownMs}
              nowMs={offsetMs === undefined ? shownMs : liveMs}
              isLive={isLive}
              speed={playing?.speed ?? null}
              onShow={show}
              onPlay={play}
            />
            {isPicture && (
              <Stage
                story={story}
                clock={clock}
                live={isLive ? live : undefined}
                isShown={isShown}
                shownMs={shownMs}
                onTime={setShownMs}
                receipt={cost.data}
              />
            )}
            {search.view !== "table" && total > LANES_MAX && total <= STRIP_MAX && (
              <HeatStrip story={story} ms={shownMs} live={isLive ? live : undefined} />
            )}
            {!isPicture && <Ticker clock={clock} isShown={isShown} onTime={setShownMs} />}
            {isPicture ? <div className="unseen">{table}</div> : <ScrollX>{table}</ScrollX>}
            <Receipt story={story} ms={shownMs} live={isLive ? live : undefined} gone={gone} cost={cost.data} />
            <Agreement story={story} ms={shownMs} live={isLive ? live : undefined} />
          </>
        )}
      </section>
      <FiguresPanel />
      <div className="two">
        <GroupsPanel isShown={isShown} />
        <QueuePanel usual={story} ms={shownMs} />
      </div>
    </>
  );
}

/** The last change before a moment in which a master went, unless that is long ago. */
function latestGone(story: Story, ms: number): Change | null {
  for (let place = placeAt(story.changes, ms); place >= 0; place--) {
    const change = story.changes[place];
    if (change === undefined || change.atMs < ms - RECEIPT_MS) return null;
    if (change.changes.some((each) => isEnd(each.reason))) return change;
  }
  return null;
}

function isComplete(cost: { masters: { failed_over_at?: string | null; waiting: number }[] } | undefined): boolean {
  return cost?.masters.every((each) => each.waiting === 0 && each.failed_over_at != null) ?? false;
}

/** Lets the time pass where no picture does. */
function Ticker({ clock, isShown, onTime }: { clock: Clock; isShown: boolean; onTime: (ms: number) => void }) {
  useEffect(() => {
    onTime(timeOf(clock, performance.now()));
    if (!isShown || clock.kind === "still") return;
    const timer = setInterval(() => onTime(timeOf(clock, performance.now())), 1_000);
    return () => clearInterval(timer);
  }, [clock, isShown, onTime]);
  return null;
}

const EVERY_MS = 10_000;

/** The worker groups, next to the slots. */
function GroupsPanel({ isShown }: { isShown: boolean }) {
  const { t } = useTranslation("cluster");
  const refetchInterval = isShown ? EVERY_MS : false;
  const groups = useQuery({ ...workerGroups, refetchInterval });
  const nodes = useQuery({ ...workers, refetchInterval });
  const remark =
    groups.data && nodes.data
      ? `${t("groupsCount", { count: groups.data.items?.length ?? 0 })} · ${t("workersCount", { count: nodes.data.items.length })}`
      : undefined;
  return (
    <Panel
      title={t("tab.workers")}
      remark={remark}
      end={
        <Link to="/cluster" search={{ tab: "workers" }}>
          {t("all")}
        </Link>
      }
    >
      <Answer of={groups} empty={<Empty title={t("noWorkers")} />}>
        {(data) => <GroupsTable groups={data.items ?? []} workers={nodes.data?.items ?? []} />}
      </Answer>
    </Panel>
  );
}

import { IconPlugConnectedX } from "@tabler/icons-react";
import { Outlet } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";
import { useTranslation } from "react-i18next";
import { startLive, useLiveState, useTopics } from "@/live/eventSource";
import { followLogins, useIsSessionOver } from "@/login/session";
import { Skeleton } from "@/parts/Answer";
import { Notices } from "@/parts/Notices";
import { moment, zone } from "@/parts/time";
import { RunDialog } from "@/start/RunDialog";
import { Rail, TabBar } from "./Rail";
import { TopBar } from "./TopBar";

const SessionOver = lazy(async () => ({ default: (await import("@/login/SessionOver")).SessionOver }));
let isStarted = false;

/** The frame of every page: rail, top bar, and the strip that says when live updates are lost. */
export function Shell() {
  useEffect(() => {
    if (isStarted) return;
    isStarted = true;
    startLive();
    followLogins();
  }, []);
  useTopics("cluster", "queue");
  const isOver = useIsSessionOver();
  // Another zone changes the text of every time, so everything is rendered again.
  const shownZone = zone.use();
  return (
    <div className="app">
      <a className="skip" href="#page">
        ↓
      </a>
      <Rail />
      <TopBar />
      <main id="page" tabIndex={-1}>
        <Stale />
        <Suspense
          fallback={
            <div className="page">
              <Skeleton lines={8} />
            </div>
          }
        >
          <Outlet key={shownZone} />
        </Suspense>
      </main>
      <TabBar />
      <Notices />
      <RunDialog />
      {isOver && (
        <Suspense fallback={null}>
          <SessionOver />
        </Suspense>
      )}
    </div>
  );
}

/** Shown while live updates do not come: what is on the page stays, with the time of its last news. */
function Stale() {
  const { t, i18n } = useTranslation("app");
  const state = useLiveState();
  const isOver = useIsSessionOver();
  if (state.isLive && !isOver) return null;
  return (
    <div className="stale" role="status">
      <IconPlugConnectedX size={14} stroke={1.5} aria-hidden />
      {t(isOver ? "sessionOver" : "stale", { at: moment(new Date(state.at), i18n.language) })}
    </div>
  );
}

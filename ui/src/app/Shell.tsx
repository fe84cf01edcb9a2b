import { Outlet } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useSyncExternalStore } from "react";
import { startLive, useTopics } from "@/live/eventSource";
import { followLogins, useIsSessionOver } from "@/login/session";
import { Skeleton } from "@/parts/Answer";
import { Notices } from "@/parts/Notices";
import { onZone, shownZone } from "@/parts/time";
import { Rail, TabBar } from "./Rail";
import { Stale } from "./Stale";
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
  const zone = useSyncExternalStore(onZone, shownZone);
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
          <Outlet key={zone} />
        </Suspense>
      </main>
      <TabBar />
      <Notices />
      {isOver && (
        <Suspense fallback={null}>
          <SessionOver />
        </Suspense>
      )}
    </div>
  );
}

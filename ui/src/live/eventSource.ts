/** The live stream of this tab: an EventSource behind the lock that the tabs of a browser share. */
import { useEffect, useSyncExternalStore } from "react";
import { api, ROOT } from "@/api/client";
import { queries } from "@/api/queries";
import { Changes } from "./changes";
import { type Channel, type Connect, LiveStream, WANT_EVERY_MS } from "./sharedByTabs";

const KINDS = ["runs", "run", "queue", "cluster", "pools", "definitions", "alerts", "resync"];
const HIDDEN_MS_MAX = 30_000;

const connect: Connect = (topics, onEvent, onState) => {
  const source = new EventSource(`${ROOT}api/v1/events?topics=${topics.join(",")}`);
  for (const kind of KINDS)
    source.addEventListener(kind, (event) => onEvent({ kind, data: JSON.parse((event as MessageEvent).data) }));
  let timer: ReturnType<typeof setTimeout> | undefined;
  source.onopen = () => {
    clearTimeout(timer);
    onState(true);
  };
  source.onerror = () => {
    clearTimeout(timer);
    timer = setTimeout(() => onState(false), 1_500);
    // A browser gives up for good after an answer that is no stream, such as 503 or 429.
    if (source.readyState === EventSource.CLOSED) again = setTimeout(renew, 3_000);
  };
  let again: ReturnType<typeof setTimeout> | undefined;
  let next: { close(): void } | null = null;
  let isClosed = false;
  const renew = async () => {
    // A stream does not say that the session is over: this request waits for the login then.
    await api.GET("/api/v1/me").catch(() => undefined);
    if (!isClosed) next = connect(topics, onEvent, onState);
  };
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
      clearTimeout(again);
      source.close();
      next?.close();
    },
  };
};

function browserChannel(): Channel {
  const channel = new BroadcastChannel(`shoal-live${ROOT}`);
  return {
    post: (message) => channel.postMessage(message),
    listen: (receive) => {
      channel.onmessage = (event) => receive(event.data);
    },
  };
}

export const live = new LiveStream(`${Date.now()}-${Math.random()}`, browserChannel(), connect);

const changes = new Changes(queries);

/** Begin: called once, after login. */
export function startLive(): void {
  live.onEvent((event) => changes.apply(event));
  let wasLive = true;
  live.onState(() => {
    if (live.state.isLive && !wasLive) changes.resync();
    wasLive = live.state.isLive;
  });
  // Web Locks exist in secure contexts only: elsewhere each tab has its own stream.
  if (navigator.locks === undefined) live.lead();
  else void navigator.locks.request(`shoal-live${ROOT}`, () => new Promise<void>(() => live.lead()));
  setInterval(() => live.beat(), WANT_EVERY_MS);
  addEventListener("pagehide", () => live.leave());
  let hiding: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(() => live.show(false), HIDDEN_MS_MAX);
    else {
      live.show(true);
      changes.resync();
    }
  });
}

/** Watch these topics while the component is on screen. */
export function useTopics(...topics: string[]): void {
  const names = topics.join(",");
  useEffect(() => {
    const topics = names.split(",").filter((topic) => topic !== "");
    const ends = topics.map((topic) => live.watch(topic));
    return () => {
      for (const end of ends) end();
      for (const topic of topics) if (!live.isWatched(topic)) changes.forget(topic);
    };
  }, [names]);
}

/** Whether live updates come, and since when the data may be old. */
export function useLiveState() {
  return useSyncExternalStore(
    (changed) => live.onState(changed),
    () => live.state,
  );
}

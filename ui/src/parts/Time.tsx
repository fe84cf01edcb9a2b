import i18next from "i18next";
import { useEffect, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { duration, exactMoment, moment } from "./time";

/** A moment: short, and exact with its zone under the pointer. */
export function Moment({ at }: { at: string }) {
  const { i18n } = useTranslation();
  return (
    <time dateTime={at} title={exactMoment(at, i18n.language)}>
      {moment(at, i18n.language)}
    </time>
  );
}

/** How long ago a moment was. It is drawn again when its words change, not each second. */
export function Ago({ at }: { at: string }) {
  const { t, i18n } = useTranslation("parts");
  const words = useSyncExternalStore(onTick, () => {
    const seconds = (Date.now() - Date.parse(at)) / 1000;
    return seconds < 5 ? t("justNow") : t("ago", { time: coarse(seconds) });
  });
  return (
    <time dateTime={at} title={exactMoment(at, i18n.language)}>
      {words}
    </time>
  );
}

/** A time that passes: from `since` until now, by the second. */
export function Elapsed({ since }: { since: string }) {
  return <>{duration(Math.max(0, (useNow() - Date.parse(since)) / 1000))}</>;
}

/** One unit is enough for what is past. */
export function coarse(seconds: number): string {
  if (seconds < 60) return i18next.t("parts:unit.s", { number: Math.floor(seconds) });
  if (seconds < 3600) return i18next.t("parts:unit.min", { number: Math.floor(seconds / 60) });
  if (seconds < 172_800) return i18next.t("parts:unit.h", { number: Math.floor(seconds / 3600) });
  return i18next.t("parts:unit.d", { number: Math.floor(seconds / 86_400) });
}

const listeners = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

/** Call `tick` once a second while the page is shown: one timer for all. Returns what ends it. */
function onTick(tick: () => void): () => void {
  listeners.add(tick);
  ticking ??= setInterval(() => {
    if (!document.hidden) for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(tick);
    if (listeners.size === 0) {
      clearInterval(ticking);
      ticking = undefined;
    }
  };
}

/** Now in milliseconds, renewed once a second while the page is shown. What shows nothing that passes need not tick. */
export function useNow(isTicking = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => (isTicking ? onTick(() => setNow(Date.now())) : undefined), [isTicking]);
  return now;
}

/** The begin of the present minute, in milliseconds. */
export function useMinute(): number {
  return useSyncExternalStore(onTick, () => Math.floor(Date.now() / 60_000) * 60_000);
}

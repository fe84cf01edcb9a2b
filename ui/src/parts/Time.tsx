import { useEffect, useState } from "react";
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

/** How long ago a moment was. */
export function Ago({ at }: { at: string }) {
  const { t, i18n } = useTranslation("parts");
  const now = useNow();
  const seconds = (now - Date.parse(at)) / 1000;
  return (
    <time dateTime={at} title={exactMoment(at, i18n.language)}>
      {seconds < 5 ? t("justNow") : t("ago", { time: coarse(seconds) })}
    </time>
  );
}

/** A time that passes: from `since` until now, by the second. */
export function Elapsed({ since }: { since: string }) {
  return <>{duration(Math.max(0, (useNow() - Date.parse(since)) / 1000))}</>;
}

/** One unit is enough for what is past. */
export function coarse(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

const listeners = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

/** Now in milliseconds, renewed once a second while the page is shown: one timer for all of them. What shows nothing
 * that passes need not tick. */
export function useNow(isTicking = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isTicking) return;
    const tick = () => setNow(Date.now());
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
  }, [isTicking]);
  return now;
}

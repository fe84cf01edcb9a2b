import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Look } from "@/parts/State";
import { coarse } from "@/parts/Time";
import { clock, count } from "@/parts/time";
import { type Bar, barsOf, PARTS, totals } from "./bars";

const TICKS = 6;

interface Props {
  of: Schemas["HistogramAnswer"];
  /** Only the time of one bar is wanted. */
  onRange?: (from: string, to: string) => void;
}

/** Bars of runs by the time of their start: stacked by how they ended, those with failures marked on top. */
export function Histogram({ of, onRange }: Props) {
  const { t, i18n } = useTranslation("lists");
  const [at, setAt] = useState<number | null>(null);
  const bars = barsOf(of);
  const highest = Math.max(1, ...bars.map((bar) => bar.total));
  const pointed = at === null ? undefined : bars[at];
  const sums = totals(bars);
  const range = (bar: Bar) => onRange?.(new Date(bar.from).toISOString(), new Date(bar.to).toISOString());
  const said = t("histogramSaid", { count: of.total, failed: sums.failed, from: clock(of.since, i18n.language) });
  return (
    <figure className="histogram" aria-label={said}>
      {/* What a click on a bar asks for, the filter of the time asks for by keyboard. */}
      <div className="bars" data-can={onRange !== undefined} onPointerLeave={() => setAt(null)}>
        {bars.map((bar, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: see above
          // biome-ignore lint/a11y/noStaticElementInteractions: see above
          <span
            key={bar.from}
            data-failed={bar.parts.failed > 0}
            onPointerEnter={() => setAt(place)}
            onClick={() => bar.total > 0 && range(bar)}
          >
            {PARTS.map(
              (part) =>
                bar.parts[part] > 0 && (
                  <i key={part} data-part={part} style={{ height: `${(100 * bar.parts[part]) / highest}%` }} />
                ),
            )}
          </span>
        ))}
        {pointed !== undefined && pointed.total > 0 && (
          <div
            className="bar-tip"
            style={{ left: `${(100 * ((at ?? 0) + 0.5)) / bars.length}%` }}
            data-late={(at ?? 0) > bars.length / 2}
          >
            {t("barRange", { from: clock(pointed.from, i18n.language), to: clock(pointed.to, i18n.language) })}
            <b>{t("runs", { count: pointed.total })}</b>
            {pointed.parts.failed > 0 && <Look of="FAILURE" word={count(pointed.parts.failed)} />}
          </div>
        )}
      </div>
      <figcaption aria-hidden>
        {Array.from({ length: TICKS + 1 }, (_, tick) => {
          const moment = Date.parse(of.since) + (tick / TICKS) * of.bar_s * bars.length * 1000;
          return <span key={moment}>{clock(moment, i18n.language, of.bar_s * bars.length > 172_800)}</span>;
        })}
      </figcaption>
    </figure>
  );
}

interface PanelProps {
  found: UseQueryResult<Schemas["HistogramAnswer"]>;
  onRange: (from: string, to: string) => void;
  /** How many match in all, also those before the first bar. */
  number: string | null;
}

/** The histogram above a list, with what it shows in words. */
export function HistogramPanel({ found, onRange, number }: PanelProps) {
  const { t } = useTranslation("lists");
  const sums = found.data === undefined ? null : totals(barsOf(found.data));
  return (
    <section className="panel histogram-panel" aria-label={t("histogram")}>
      <div className="line">
        <span className="soft">
          {number !== null && <b>{number} </b>}
          {number !== null && t("matchInAll")}
          {found.data !== undefined && (
            <>
              {number !== null && " · "}
              {t("shown", { count: found.data.total, bar: coarse(Math.round(found.data.bar_s)) })}
              {!found.data.is_complete && ` ${t("cut")}`}
            </>
          )}
        </span>
        <span className="grow" />
        {sums !== null && (
          <>
            <Look of="SUCCESS" word={count(sums.good)} />
            <Look of="FAILURE" word={count(sums.failed)} />
            {sums.ended > 0 && <Look of="STOP" word={count(sums.ended)} />}
            {sums.active > 0 && <Look of="RUNNING_EXECUTION" word={count(sums.active)} />}
          </>
        )}
      </div>
      {found.error !== null && found.data === undefined ? (
        <p className="mute">{found.error.message}</p>
      ) : found.data === undefined ? (
        <div className="bars skel" />
      ) : (
        <Histogram of={found.data} onRange={onRange} />
      )}
    </section>
  );
}

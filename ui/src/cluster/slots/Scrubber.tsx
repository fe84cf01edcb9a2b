import { type KeyboardEvent, type PointerEvent, useRef } from "react";
import { useTranslation } from "react-i18next";
import { SPANS, useClusterSearch } from "../search";
import { markOf, marksOf } from "./marks";
import type { Story } from "./story";
import { changeWords, clockTime, shortChangeWords } from "./words";

const LEAD_MS = 3_000;

interface Props {
  story: Story;
  shownMs: number;
  nowMs: number;
  isLive: boolean;
  onShow: (ms: number | null) => void;
}

/** A line of time with a mark for each change: drag its handle, press a mark, or use the arrow keys. */
export function Scrubber({ story, shownMs, nowMs, isLive, onShow }: Props) {
  const { t, i18n } = useTranslation("cluster");
  const [{ span = "15m" }] = useClusterSearch();
  const line = useRef<HTMLDivElement>(null);
  const spanMs = SPANS[span];
  const endMs = Math.max(nowMs, shownMs);
  const fromMs = endMs - spanMs;
  const shareOf = (ms: number) => Math.max(0, Math.min(1, (ms - fromMs) / spanMs));
  const marks = marksOf(story.changes, fromMs, endMs, spanMs);

  const go = (ms: number) => onShow(ms >= nowMs - spanMs / 200 ? null : Math.max(fromMs, ms));
  const drag = (event: PointerEvent) => {
    const box = line.current?.getBoundingClientRect();
    if (box === undefined || event.buttons === 0) return;
    go(fromMs + ((event.clientX - box.left) / box.width) * spanMs);
  };
  const press = (event: KeyboardEvent) => {
    const step = event.shiftKey ? spanMs / 20 : Math.max(1_000, spanMs / 900);
    const to = { ArrowLeft: shownMs - step, ArrowRight: shownMs + step, Home: fromMs, End: nowMs }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  };
  return (
    <div
      className="scrub"
      ref={line}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        drag(event);
      }}
      onPointerMove={drag}
    >
      <div className="line" />
      <span className="from">{clockTime(fromMs, i18n.language, spanMs < 3_600_000)}</span>
      {marks.map(({ change, count, word }) => (
        <button
          type="button"
          key={change.number}
          className="mark"
          tabIndex={-1}
          title={`${clockTime(change.atMs, i18n.language)} ${changeWords(change, t)}${count > 1 ? ` +${count - 1}` : ""}`}
          ref={(mark) => mark?.style.setProperty("--x", `${shareOf(change.atMs) * 100}%`)}
          onPointerDown={(event) => {
            event.stopPropagation();
            go(change.atMs - LEAD_MS);
          }}
        >
          <i className="st" data-s={markOf(change)} aria-hidden />
          {word !== null && <span data-at={word}>{shortChangeWords(change, t)}</span>}
        </button>
      ))}
      <div
        className="handle"
        role="slider"
        tabIndex={0}
        aria-label={t("shownMoment")}
        aria-valuemin={Math.round(fromMs)}
        aria-valuemax={Math.round(endMs)}
        aria-valuenow={Math.round(shownMs)}
        aria-valuetext={isLive ? t("live") : clockTime(shownMs, i18n.language)}
        onKeyDown={press}
        ref={(handle) => handle?.style.setProperty("--x", `${shareOf(isLive ? nowMs : shownMs) * 100}%`)}
      />
    </div>
  );
}

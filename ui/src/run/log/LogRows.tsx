import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { LogText } from "./LogText";
import { isError, type Row, rowsOf } from "./lines";
import type { LogReader } from "./reader";

export const ROW = 18;
/** A line longer than this is cut, unless it is wrapped: a browser draws no text of megabytes. */
const LENGTH_MAX = 4_000;
const NEAR = 60;

type Box = RefObject<HTMLDivElement | null>;

interface Props {
  reader: LogReader;
  /** The line that the address names. */
  at: number | undefined;
  sought: string | undefined;
  wrap: boolean;
  goTo: (at: number) => void;
}

/** The rows of a log, of one height each; more are read when the reader comes near an end of what is there. */
export function LogRows({ reader, at, sought, wrap, goTo }: Props) {
  const { t } = useTranslation("run");
  const box = useRef<HTMLDivElement>(null);
  const columns = useColumns(box, wrap);
  const { lines } = reader;
  const rows = useMemo(() => rowsOf(lines, columns), [lines, columns]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 20,
  });
  const items = virtual.getVirtualItems();
  const onScroll = usePlace(box, rows, reader, at);
  const digits = String((reader.first ?? 0) + lines.length).length;
  return (
    <div
      className="log-rows"
      ref={box}
      onScroll={onScroll}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by the keyboard
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label={t("log")}
    >
      <div className="log-all" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          const number = reader.first === null ? "·" : reader.first + row.place + 1;
          return (
            <div
              key={item.key}
              className="log-row"
              data-error={isError(row.line.text) || undefined}
              aria-current={row.line.at === at || undefined}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <button
                type="button"
                tabIndex={-1}
                style={{ width: `${Math.max(3, digits) + 2}ch` }}
                aria-label={t("linkToLine", { number })}
                onClick={() => goTo(row.line.at)}
              >
                {row.from === 0 ? number : ""}
              </button>
              <LogText text={row.line.text} from={row.from} length={columns ?? LENGTH_MAX} sought={sought} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Keeps what is in sight where it is, goes to the line of the address once, and reads more near an end: on each scroll. */
function usePlace(box: Box, rows: Row[], reader: LogReader, at: number | undefined) {
  const place = useRef<{ at: number; by: number; isAtEnd: boolean } | null>(null);
  const shownAt = useRef<number | undefined>(undefined);
  const aim = useRef(reader.aim);
  // What was in sight stays where it was when lines come before it or go; a reader at the end stays at the end.
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || rows.length === 0) return;
    if (reader.aim !== aim.current) {
      aim.current = reader.aim;
      place.current = reader.aim.at === null ? null : { at: reader.aim.at, by: 0, isAtEnd: false };
    }
    if (at !== undefined && at !== shownAt.current) {
      const row = rows.findIndex((each) => each.line.at >= at);
      if (row >= 0) {
        element.scrollTop = Math.max(0, row * ROW - element.clientHeight / 3);
        shownAt.current = at;
        place.current = { at: rows[row]?.line.at ?? 0, by: -element.clientHeight / 3, isAtEnd: false };
        return;
      }
    }
    const kept = place.current;
    if (kept === null || kept.isAtEnd) element.scrollTop = element.scrollHeight;
    else {
      const row = rows.findIndex((each) => each.line.at >= kept.at);
      if (row >= 0) element.scrollTop = row * ROW + kept.by;
    }
  }, [box, rows, at, reader]);
  return () => {
    const element = box.current;
    if (element === null) return;
    const top = Math.floor(element.scrollTop / ROW);
    const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - ROW;
    place.current = {
      at: rows[top]?.line.at ?? 0,
      by: element.scrollTop - top * ROW,
      isAtEnd: isAtEnd && !reader.hasLater,
    };
    if (top < NEAR && reader.hasEarlier) void reader.earlier();
    if (top + element.clientHeight / ROW > rows.length - NEAR && reader.hasLater) void reader.later();
  };
}

const CHARACTER = 7.23;
const MARGIN = 84;

/** How many characters a row has when lines are wrapped; null = they are not. */
function useColumns(box: Box, wrap: boolean): number | null {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const resized = new ResizeObserver(() => setWidth(element.clientWidth));
    resized.observe(element);
    return () => resized.disconnect();
  }, [box]);
  return wrap && width > 0 ? Math.max(20, Math.floor((width - MARGIN) / CHARACTER)) : null;
}

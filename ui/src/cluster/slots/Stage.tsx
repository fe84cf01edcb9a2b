import { useMantineColorScheme } from "@mantine/core";
import { useReducedMotion } from "@mantine/hooks";
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { useClusterSearch } from "../search";
import { type Clock, timeOf } from "./clock";
import { Drill } from "./Drill";
import type { Live } from "./feed";
import { MasterCard } from "./MasterCard";
import { coloursOf, paint } from "./paint";
import { movesUntilMs, rowsAt, type Scene, type Size, sceneAt } from "./picture";
import { arrivingPerS, type Story } from "./story";

const TELL_EVERY_MS = 200;
const HIT_PX = 12;
const STREAM_PX_PER_S = 60;

interface Props {
  story: Story;
  clock: Clock;
  /** What is known only of the present; undefined in a replay. */
  live: Live | undefined;
  isShown: boolean;
  shownMs: number;
  onTime: (ms: number) => void;
  receipt: Schemas["ReceiptAnswer"] | undefined;
}

/** Lanes, dots and masters: a canvas that draws `sceneAt(time)` while something moves, and cards over it. */
export function Stage({ story, clock, live, isShown, shownMs, onTime, receipt }: Props) {
  const { t } = useTranslation("cluster");
  const canvas = useRef<HTMLCanvasElement>(null);
  const scene = useRef<Scene | null>(null);
  const [width, setWidth] = useState(0);
  const [{ command }] = useClusterSearch();
  const isStill = useReducedMotion();
  const { colorScheme } = useMantineColorScheme();
  const count = rowsAt(story, shownMs, sizeOf(1000, 1)).rows.length;
  const size = useMemo(() => sizeOf(width, count), [width, count]);
  const height = Math.max(2, count) * size.pitch + size.top * 2;

  useLayoutEffect(() => {
    const box = canvas.current?.parentElement;
    if (box == null) return;
    const watching = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? 0)));
    watching.observe(box);
    return () => watching.disconnect();
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another theme has other colours
  const colours = useMemo(() => coloursOf(document.documentElement), [colorScheme]);
  const draw = useCallback(
    (now: number): number => {
      const ms = timeOf(clock, now);
      const context = canvas.current?.getContext("2d");
      if (context == null || width === 0 || canvas.current === null) return ms;
      const ratio = Math.min(2, devicePixelRatio);
      const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (canvas.current.width !== wide || canvas.current.height !== high) {
        canvas.current.width = wide;
        canvas.current.height = high;
      }
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      scene.current = sceneAt(story, ms, size);
      paint(context, scene.current, colours, command ?? null, isStill ? 0 : (ms / 1000) * STREAM_PX_PER_S);
      return ms;
    },
    [clock, story, size, width, height, colours, command, isStill],
  );

  useEffect(() => {
    if (!isShown) return;
    let asked = 0;
    let toldAt = Number.NEGATIVE_INFINITY;
    const step = (now: number) => {
      const ms = draw(now);
      const isMoving = clock.kind === "replay" || (clock.kind === "live" && ms <= movesUntilMs(story, ms));
      const goesOn = isMoving && (!isStill || clock.kind === "replay");
      if (now - toldAt >= TELL_EVERY_MS || !goesOn) {
        toldAt = now;
        onTime(ms);
      }
      if (goesOn || scene.current?.isStream) asked = requestAnimationFrame(step);
    };
    asked = requestAnimationFrame(step);
    return () => cancelAnimationFrame(asked);
  }, [draw, isShown, clock, story, isStill, onTime]);

  useChoice(canvas, scene);
  const rows = width === 0 ? [] : rowsAt(story, shownMs, size).rows;
  const largest = Math.max(10, ...(live?.frame.slots.masters.map((each) => each.running ?? 0) ?? []));
  const perS = arrivingPerS(story, shownMs);
  return (
    <div className="stage" data-pitch={size.pitch < 60 ? "low" : undefined}>
      <div className="stage-box" ref={(box) => box?.style.setProperty("--stage-h", `${height}px`)}>
        <canvas ref={canvas} role="img" aria-label={t("picture")} />
        <dl className="source">
          <dt>{t("arrive")}</dt>
          <dd>
            {story.isCut && <small>&gt; </small>}
            {perS >= 10 ? Math.round(perS) : perS.toFixed(1)}
            <small> /s</small>
          </dd>
          <dd className="note">{t("oneRowEach")}</dd>
        </dl>
        {rows.map((row) => (
          <MasterCard
            key={row.epoch}
            row={row}
            node={live?.frame.slots.masters.find((each) => each.epoch === row.epoch)}
            largest={largest}
            taken={receipt?.masters.find((each) => each.epoch === row.epoch)?.runs}
          />
        ))}
      </div>
      <Keys>
        <Drill />
      </Keys>
    </div>
  );
}

/** Chooses a command by its dot. With the pointer only: by keyboard a command is chosen by its id, below. */
function useChoice(canvas: RefObject<HTMLCanvasElement | null>, scene: RefObject<Scene | null>): void {
  const [, change] = useClusterSearch();
  useEffect(() => {
    const pressed = canvas.current;
    if (pressed === null) return;
    const choose = (event: MouseEvent) => {
      const near = scene.current?.dots
        .map((dot) => ({ dot, away: Math.hypot(dot.x - event.offsetX, dot.y - event.offsetY) }))
        .filter(({ away }) => away <= HIT_PX)
        .sort((one, other) => one.away - other.away)[0];
      if (near !== undefined) change({ command: near.dot.id });
    };
    pressed.addEventListener("click", choose);
    return () => pressed.removeEventListener("click", choose);
  }, [canvas, scene, change]);
}

/** How the picture fits into a width, with so many masters. */
function sizeOf(width: number, masters: number): Size {
  const pitch = masters <= 5 ? 78 : masters <= 8 ? 60 : 44;
  if (width < 560) return { width, left: 8, right: 196, pitch, top: 14 };
  return { width, left: 132, right: width < 900 ? 300 : 340, pitch, top: 14 };
}

const KINDS = ["start", "schedule", "backfill", "other"] as const;

/** What the dots mean. */
function Keys({ children }: { children: ReactNode }) {
  const { t } = useTranslation("cluster");
  return (
    <div className="stage-legend">
      {KINDS.map((kind) => (
        <span key={kind}>
          <svg viewBox="0 0 14 12" aria-hidden="true">
            <circle cx="7" cy="6" r="4.5" className={`kind-${kind}`} />
          </svg>
          {t(`kind.${kind}`)}
        </span>
      ))}
      <span>
        <svg viewBox="0 0 14 12" aria-hidden="true">
          <circle cx="7" cy="6" r="3.8" className="kind-waits" />
        </svg>
        {t("waits")}
      </span>
      <span>
        <svg viewBox="0 0 14 12" aria-hidden="true">
          <path d="M7 .8 12.2 6 7 11.2 1.8 6Z" className="kind-refused" />
        </svg>
        {t("refused")}
      </span>
      <span>
        <svg viewBox="0 0 14 12" aria-hidden="true">
          <path d="M13 6C10 2.2 6 2.2 3.5 6 6 9.8 10 9.8 13 6ZM4.5 6 .8 3.2v5.6Z" className="kind-failover" />
        </svg>
        {t("failedOver")}
      </span>
      <div className="drill">{children}</div>
    </div>
  );
}

import { IconFocusCentered, IconFold, IconMinus, IconPlus } from "@tabler/icons-react";
import { type KeyboardEvent, type PointerEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Place } from "@/graph/arrange";
import type { Folding } from "@/graph/folding";
import { IconAct } from "@/parts/IconAct";
import { useRun } from "../context";
import { isFailed } from "../model";
import type { Drawing } from "./collapse";
import { type Box, boxAt, coloursOf, paint, type View, viewOfAll, zoomed } from "./painting";

const STEP = 80;

interface Props {
  drawing: Drawing;
  places: Record<string, Place>;
  /** The groups of tasks, by their names. */
  groups: ReadonlyMap<string, string>;
  folding: Folding;
}

/** A graph of very many tasks as a picture: dragged, zoomed, and pressed to choose a task; the table has them all. */
export function CanvasGraph({ drawing, places, groups, folding }: Props) {
  const { t } = useTranslation(["run", "parts"]);
  const { go, openMenu } = useRun();
  const held = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const [under, setUnder] = useState<Box | null>(null);
  const open = new Set([...groups.values()].filter((group) => !folding.folded.has(group)));
  const { canvas, move, zoom, fit, hit } = useView(useBoxes(drawing, places), drawing, places);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, () => void> = {
      ArrowLeft: () => move(STEP, 0),
      ArrowRight: () => move(-STEP, 0),
      ArrowUp: () => move(0, STEP),
      ArrowDown: () => move(0, -STEP),
      "+": () => zoom(1.25),
      "-": () => zoom(0.8),
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    step();
  };
  const onPointerMove = (event: PointerEvent) => {
    if (held.current === null) {
      const box = hit(event);
      if (box?.id !== under?.id) setUnder(box);
      return;
    }
    const { x, y } = held.current;
    if (!held.current.moved && Math.hypot(event.clientX - x, event.clientY - y) < 4) return;
    held.current = { x: event.clientX, y: event.clientY, moved: true };
    move(event.clientX - x, event.clientY - y);
  };
  const onPointerUp = (event: PointerEvent) => {
    const box = held.current?.moved ? null : hit(event);
    held.current = null;
    if (box?.group !== undefined) folding.toggle([box.group]);
    else if (box !== null) go({ task: box.id });
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is moved by the arrow keys */}
      <div className="canvas-graph" tabIndex={0} role="application" aria-label={t("largeGraph")} onKeyDown={onKeyDown}>
        <canvas
          ref={canvas}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            held.current = { x: event.clientX, y: event.clientY, moved: false };
          }}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerLeave={() => setUnder(null)}
          onContextMenu={(event) => {
            event.preventDefault();
            const box = hit(event);
            if (box !== null && box.group === undefined) openMenu(box.id, event.clientX, event.clientY);
          }}
        />
      </div>
      <div className="graph-tools">
        <IconAct icon={IconPlus} word={t("zoomIn")} variant="default" onClick={() => zoom(1.6)} />
        <IconAct icon={IconMinus} word={t("zoomOut")} variant="default" onClick={() => zoom(0.625)} />
        <IconAct icon={IconFocusCentered} word={t("fit")} variant="default" onClick={fit} />
        {open.size > 0 && (
          <IconAct icon={IconFold} word={t("parts:foldAll")} variant="default" onClick={() => folding.toggle(open)} />
        )}
      </div>
      <p className="under">{under === null ? t("largeGraphSays") : `${under.group ?? under.id} · ${under.label}`}</p>
    </>
  );
}

/** What is drawn of the tasks, each at its place. */
function useBoxes(drawing: Drawing, places: Record<string, Place>): Box[] {
  const { t } = useTranslation("parts");
  const { tasks } = useRun();
  return useMemo(() => {
    const byName = new Map(tasks.map((task) => [task.name, task]));
    return drawing.items.map(({ id, names, group }): Box => {
      const own = names.map((name) => byName.get(name)).filter((task) => task !== undefined);
      const state = own.find((task) => isFailed(task.state))?.state ?? own[0]?.state ?? "NOT_BEGUN";
      const word = t(`state.${state}`);
      return { id, state, group, label: own.length > 1 ? `${own.length} × ${word}` : word, x: 0, y: 0, ...places[id] };
    });
  }, [drawing, places, tasks, t]);
}

/** Draws them on a canvas, and how the view of them changes: at first all of them are seen. */
function useView(boxes: Box[], drawing: Drawing, places: Record<string, Place>) {
  const { search } = useRun();
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View | null>(null);
  const due = useRef(0);
  const draw = useCallback(() => {
    cancelAnimationFrame(due.current);
    due.current = requestAnimationFrame(() => {
      const element = canvas.current;
      const context = element?.getContext("2d");
      if (!element || !context) return;
      const size = { width: element.clientWidth, height: element.clientHeight };
      const width = Math.round(size.width * devicePixelRatio);
      if (element.width !== width) element.width = width;
      const height = Math.round(size.height * devicePixelRatio);
      if (element.height !== height) element.height = height;
      view.current ??= viewOfAll(places, size.width, size.height);
      const colours = coloursOf(document.body, new Set(boxes.map((box) => box.state)));
      paint(context, size, view.current, boxes, drawing.edges, search.task ?? null, colours);
    });
  }, [boxes, drawing, places, search.task]);
  const show = useCallback(
    (next: View | null) => {
      view.current = next;
      draw();
    },
    [draw],
  );
  useEffect(() => {
    draw();
    const element = canvas.current;
    if (element === null) return;
    const resized = new ResizeObserver(draw);
    resized.observe(element);
    const themed = new MutationObserver(draw);
    themed.observe(document.documentElement, { attributes: true });
    const wheel = (event: WheelEvent) => {
      if ((!event.ctrlKey && !event.metaKey) || view.current === null) return;
      event.preventDefault();
      show(zoomed(view.current, 1.0015 ** -event.deltaY, event.offsetX, event.offsetY));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      resized.disconnect();
      themed.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, [draw, show]);
  return {
    canvas,
    move: (x: number, y: number) => {
      const now = view.current;
      if (now !== null) show({ ...now, x: now.x + x, y: now.y + y });
    },
    zoom: (factor: number) => {
      const element = canvas.current;
      if (view.current === null || element === null) return;
      show(zoomed(view.current, factor, element.clientWidth / 2, element.clientHeight / 2));
    },
    fit: () => show(null),
    /** The box under the pointer. */
    hit: ({ nativeEvent: { offsetX, offsetY } }: { nativeEvent: { offsetX: number; offsetY: number } }) =>
      view.current && boxAt(boxes, view.current, offsetX, offsetY),
  };
}

/** Draws a large graph on a canvas: near, boxes with names; far, colours by state. */

import type { Place } from "@/graph/arrange";
import { styleOf } from "@/parts/State";
import { BOX, type Drawing } from "./collapse";

export interface View {
  x: number;
  y: number;
  scale: number;
}

export interface Box extends Place {
  id: string;
  state: string;
  label: string;
  /** Of a folded group. */
  group?: string;
}

export interface Colours {
  line: string;
  text: string;
  surface: string;
  focus: string;
  /** Fill, ground and edge by the name of a state's look. */
  of: Map<string, { fill: string; tint: string; edge: string }>;
}

const NAMES_FROM = 0.45;
const CURVES_FROM = 0.3;

/** The colours of the theme, read from the page. */
export function coloursOf(element: HTMLElement, states: Iterable<string>): Colours {
  const probe = document.createElement("i");
  element.append(probe);
  const style = getComputedStyle(probe);
  const value = (name: string) => style.getPropertyValue(name).trim();
  const colours: Colours = {
    line: value("--line-strong"),
    text: value("--text"),
    surface: value("--surface"),
    focus: value("--focus"),
    of: new Map(),
  };
  for (const state of states) {
    probe.dataset.s = styleOf(state);
    colours.of.set(state, { fill: value("--f"), tint: value("--t"), edge: value("--e") });
  }
  probe.remove();
  return colours;
}

/** The view in which all boxes are seen, as large as that allows. */
export function viewOfAll(places: Record<string, Place>, width: number, height: number): View {
  const all = Object.values(places);
  const left = Math.min(...all.map((each) => each.x));
  const top = Math.min(...all.map((each) => each.y));
  const across = Math.max(...all.map((each) => each.x)) + BOX.width - left;
  const down = Math.max(...all.map((each) => each.y)) + BOX.height - top;
  const scale = Math.min(1, (width - 32) / across, (height - 32) / down);
  return { scale, x: (width - across * scale) / 2 - left * scale, y: (height - down * scale) / 2 - top * scale };
}

/** Draw what is in sight. */
export function paint(
  canvas: CanvasRenderingContext2D,
  size: { width: number; height: number },
  view: View,
  boxes: Box[],
  edges: Drawing["edges"],
  chosen: string | null,
  colours: Colours,
): void {
  const ratio = devicePixelRatio;
  canvas.setTransform(ratio, 0, 0, ratio, 0, 0);
  canvas.clearRect(0, 0, size.width, size.height);
  canvas.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
  const left = -view.x / view.scale;
  const top = -view.y / view.scale;
  const right = left + size.width / view.scale;
  const bottom = top + size.height / view.scale;
  const byId = new Map(boxes.map((box) => [box.id, box]));
  canvas.strokeStyle = colours.line;
  canvas.lineWidth = Math.min(1.5, 0.6 / view.scale);
  canvas.globalAlpha = view.scale < CURVES_FROM ? 0.5 : 1;
  canvas.beginPath();
  for (const [from, to] of edges) {
    const one = byId.get(from);
    const other = byId.get(to);
    if (one === undefined || other === undefined) continue;
    const x1 = one.x + BOX.width;
    const y1 = one.y + BOX.height / 2;
    const y2 = other.y + BOX.height / 2;
    if (Math.max(x1, other.x) < left || Math.min(x1, other.x) > right) continue;
    if (Math.max(y1, y2) < top || Math.min(y1, y2) > bottom) continue;
    canvas.moveTo(x1, y1);
    const middle = (x1 + other.x) / 2;
    if (view.scale < CURVES_FROM) canvas.lineTo(other.x, y2);
    else canvas.bezierCurveTo(middle, y1, middle, y2, other.x, y2);
  }
  canvas.stroke();
  canvas.globalAlpha = 1;
  const hasNames = view.scale >= NAMES_FROM;
  canvas.textBaseline = "middle";
  canvas.font = `500 12px ${getComputedStyle(canvas.canvas).fontFamily}`;
  for (const box of boxes) {
    if (box.x + BOX.width < left || box.x > right || box.y + BOX.height < top || box.y > bottom) continue;
    const colour = colours.of.get(box.state);
    canvas.fillStyle = (hasNames ? colours.surface : colour?.fill) ?? colours.line;
    canvas.fillRect(box.x, box.y, BOX.width, BOX.height);
    if (box.id === chosen) {
      canvas.strokeStyle = colours.focus;
      canvas.lineWidth = Math.max(3, 2 / view.scale);
      canvas.strokeRect(box.x - 4, box.y - 4, BOX.width + 8, BOX.height + 8);
    }
    if (!hasNames) continue;
    canvas.strokeStyle = colour?.edge ?? colours.line;
    canvas.lineWidth = 1;
    canvas.strokeRect(box.x, box.y, BOX.width, BOX.height);
    canvas.fillStyle = colour?.fill ?? colours.line;
    canvas.fillRect(box.x, box.y, 5, BOX.height);
    canvas.fillStyle = colours.text;
    canvas.fillText(box.group ?? box.id, box.x + 14, box.y + 17, BOX.width - 20);
    canvas.fillText(box.label, box.x + 14, box.y + 35, BOX.width - 20);
  }
}

/** The box at a place of the canvas. */
export function boxAt(boxes: Box[], view: View, x: number, y: number): Box | null {
  const at = { x: (x - view.x) / view.scale, y: (y - view.y) / view.scale };
  return (
    boxes.find((box) => at.x >= box.x && at.x <= box.x + BOX.width && at.y >= box.y && at.y <= box.y + BOX.height) ??
    null
  );
}

/** A view nearer or farther, in which the place under the pointer stays. */
export function zoomed(view: View, factor: number, x: number, y: number): View {
  const scale = Math.min(1.6, Math.max(0.03, view.scale * factor));
  const by = scale / view.scale;
  return { scale, x: x - (x - view.x) * by, y: y - (y - view.y) * by };
}

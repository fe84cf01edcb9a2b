/** Paints a scene on a canvas, in the colours of the theme. */
import type { Dot, Scene } from "./picture";
import type { Kind } from "./story";

const FISH = "M8 0C5 -4.6 -1 -4.6 -4 0 -1 4.6 5 4.6 8 0ZM-3 0 -8 -3.6v7.2Z";
const LANE_WIDTH = 18;

export interface Colours {
  lane: string;
  thread: string;
  text: string;
  text2: string;
  surface: string;
  failure: string;
  moved: string;
  kinds: Record<Kind, string>;
  mono: string;
}

/** The theme's colours as they are now. */
export function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name).trim();
  return {
    lane: token("--selected"),
    thread: token("--primary-edge"),
    text: token("--text"),
    text2: token("--text-2"),
    surface: token("--surface"),
    failure: token("--failure-fill"),
    moved: token("--moved-fill"),
    kinds: {
      start: token("--primary"),
      schedule: token("--wait-fill"),
      backfill: token("--delay-fill"),
      failover: token("--moved-fill"),
      other: token("--text"),
    },
    mono: token("--font-mono"),
  };
}

/** Draw it. `chosen` is the id of the command with a ring; `phase` moves the streams, in pixels. */
export function paint(
  context: CanvasRenderingContext2D,
  scene: Scene,
  colours: Colours,
  chosen: string | null,
  phase: number,
): void {
  context.lineCap = "round";
  for (const lane of scene.lanes) {
    if (lane.share <= 0.01) continue;
    context.globalAlpha = lane.share;
    const path = lanePath(scene, lane.y, lane.endX);
    stroke(context, path, colours.lane, LANE_WIDTH);
    if (scene.isStream && lane.perS > 0) {
      stroke(context, path, colours.kinds.start, Math.min(LANE_WIDTH - 2, 2 + lane.perS / 8));
      context.setLineDash([10, 14]);
      context.lineDashOffset = -phase;
      stroke(context, path, colours.lane, 1.5);
    } else {
      context.setLineDash([1, 7]);
      stroke(context, path, colours.thread, 1);
    }
    context.setLineDash([]);
    context.lineDashOffset = 0;
    if (lane.label !== null && scene.end - scene.split > 130) label(context, scene, lane.y, lane.label, colours);
  }
  context.globalAlpha = 1;
  if (!scene.isStream) for (const each of scene.dots) dot(context, each, colours);
  for (const each of scene.swimmers) {
    context.save();
    context.translate(each.x, each.y);
    context.rotate(each.angle);
    context.scale(0.82, 0.82);
    context.fillStyle = colours.moved;
    context.fill(fish());
    context.restore();
  }
  const ringed = scene.dots.find((each) => each.id === chosen);
  if (ringed !== undefined) ring(context, ringed, colours);
}

let fishPath: Path2D | undefined;
function fish(): Path2D {
  fishPath ??= new Path2D(FISH);
  return fishPath;
}

function lanePath(scene: Scene, y: number, endX: number): Path2D {
  const { source, split } = scene;
  const path = new Path2D();
  const half = (source.x + split) / 2;
  path.moveTo(source.x, source.y);
  path.bezierCurveTo(half, source.y, half, y, split, y);
  path.lineTo(endX, y);
  return path;
}

function stroke(context: CanvasRenderingContext2D, path: Path2D, colour: string, width: number): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke(path);
}

function label(context: CanvasRenderingContext2D, scene: Scene, y: number, text: string, colours: Colours): void {
  const [words, slot] = text.split(/(?<== )/);
  context.fillStyle = colours.text2;
  context.font = `500 12px ${colours.mono}`;
  context.fillText(words ?? "", scene.split + 6, y - 14);
  const width = context.measureText(words ?? "").width;
  context.fillStyle = colours.text;
  context.font = `700 12px ${colours.mono}`;
  context.fillText(slot ?? "", scene.split + 6 + width, y - 14);
}

function dot(context: CanvasRenderingContext2D, { x, y, kind, shape }: Dot, colours: Colours): void {
  context.beginPath();
  if (shape === "diamond") {
    context.moveTo(x, y - 6);
    context.lineTo(x + 6, y);
    context.lineTo(x, y + 6);
    context.lineTo(x - 6, y);
    context.closePath();
    context.fillStyle = colours.failure;
    context.fill();
    return;
  }
  context.arc(x, y, shape === "hollow" ? 4 : 4.6, 0, 2 * Math.PI);
  context.fillStyle = shape === "hollow" ? colours.surface : colours.kinds[kind];
  context.fill();
  if (shape === "hollow") {
    context.strokeStyle = colours.kinds[kind];
    context.lineWidth = 2;
    context.stroke();
  }
}

function ring(context: CanvasRenderingContext2D, { x, y, id }: Dot, colours: Colours): void {
  context.beginPath();
  context.arc(x, y, 9, 0, 2 * Math.PI);
  context.strokeStyle = colours.text;
  context.lineWidth = 1.5;
  context.stroke();
  context.font = `600 12px ${colours.mono}`;
  context.textAlign = "center";
  context.strokeStyle = colours.surface;
  context.lineWidth = 4;
  context.strokeText(id, x, y - 14);
  context.fillStyle = colours.text;
  context.fillText(id, x, y - 14);
  context.textAlign = "start";
}

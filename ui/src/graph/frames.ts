/** The frames around the nodes of groups. */
import type { Place } from "./arrange";

interface Box extends Place {
  w: number;
  h: number;
}

export interface Member extends Box {
  /** "" or undefined = in none. */
  group: string | undefined;
}

const EDGE = 10;
/** Above the nodes is room for the name. */
const HEAD = 20;

/** Frames with their names. None has a node of another group or of none in it: a group in several places has several. */
export function framesOf(nodes: readonly Member[]): (Box & { name: string })[] {
  const frames: (Box & { name: string })[] = [];
  for (const node of nodes.toSorted((one, other) => one.y - other.y || one.x - other.x)) {
    if (!node.group) continue;
    const others = nodes.filter(({ group }) => group !== node.group);
    const isFree = (frame: Box) => !others.some((other) => isOver(frame, other));
    const near = frames.find((frame) => frame.name === node.group && isFree(around(frame, node)));
    if (near === undefined) frames.push({ name: node.group, ...around(node, node) });
    else Object.assign(near, around(near, node));
  }
  return frames.map(({ name, x, y, w, h }) => ({
    name,
    x: x - EDGE,
    y: y - HEAD,
    w: w + 2 * EDGE,
    h: h + HEAD + EDGE,
  }));
}

function around(one: Box, other: Box): Box {
  const [x, y] = [Math.min(one.x, other.x), Math.min(one.y, other.y)];
  const right = Math.max(one.x + one.w, other.x + other.w);
  return { x, y, w: right - x, h: Math.max(one.y + one.h, other.y + other.h) - y };
}

function isOver(one: Box, other: Box): boolean {
  return one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h;
}

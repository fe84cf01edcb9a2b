/** Places of nodes from the worker, so that a large graph does not hold up the page. */
import { useEffect, useMemo, useState } from "react";
import type { Places, Shape } from "./arrange";

let worker: Worker | null = null;
let last = 0;
const waiting = new Map<number, (places: Places) => void>();

function start(): Worker {
  const made = new Worker(new URL("./arrange.worker.ts", import.meta.url), { type: "module" });
  made.onmessage = ({ data }: MessageEvent<{ number: number; places: Places }>) => {
    waiting.get(data.number)?.(data.places);
    waiting.delete(data.number);
  };
  return made;
}

/** Load the worker before there is something to arrange. */
export function prepareArranging(): void {
  worker ??= start();
}

/** Arrange a graph. */
export function arranged(shape: Shape): Promise<Places> {
  prepareArranging();
  last += 1;
  const number = last;
  return new Promise((resolve) => {
    waiting.set(number, resolve);
    worker?.postMessage({ number, shape });
  });
}

/** The places of a graph, arranged again whenever its shape changes; null until the first ones are there. */
export function useArranged(shape: Shape | null): Places | null {
  const [places, setPlaces] = useState<Places | null>(null);
  const key = useMemo(() => (shape === null ? "" : JSON.stringify(shape)), [shape]);
  useEffect(() => {
    if (key === "") return;
    let isWanted = true;
    void arranged(JSON.parse(key) as Shape).then((found) => isWanted && setPlaces(found));
    return () => {
      isWanted = false;
    };
  }, [key]);
  return places;
}

import { useEffect, useState } from "react";
import type { Drawing } from "./collapse";
import type { Place } from "./layered";
import type { Asked } from "./layout.worker";

/** The places of the boxes of a drawing, as soon as they are known; null = not yet. */
export function useLayout(drawing: Drawing): Record<string, Place> | null {
  const [places, setPlaces] = useState<Record<string, Place> | null>(null);
  useEffect(() => {
    const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Record<string, Place>>) => setPlaces(data);
    const asked: Asked = { ids: drawing.items.map((item) => item.id), edges: drawing.edges };
    worker.postMessage(asked);
    return () => worker.terminate();
  }, [drawing]);
  return places;
}

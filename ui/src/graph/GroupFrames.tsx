import { ViewportPortal } from "@xyflow/react";
import { framesOf, type Member } from "./frames";
import "./frames.css";

/** A frame with its name around the tasks of each group, behind them. */
export function GroupFrames({ of }: { of: readonly Member[] }) {
  return (
    <ViewportPortal>
      {framesOf(of).map(({ name, x, y, w, h }) => (
        <div
          key={`${name} ${x} ${y}`}
          className="group-frame"
          style={{ translate: `${x}px ${y}px`, width: w, height: h }}
        >
          <span className="cut">{name}</span>
        </div>
      ))}
    </ViewportPortal>
  );
}

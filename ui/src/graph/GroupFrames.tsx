import { IconChevronDown } from "@tabler/icons-react";
import { ViewportPortal } from "@xyflow/react";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { type Folding, focusAfter } from "./folding";
import { framesOf, type Member } from "./frames";
import "./frames.css";

/** A frame with its name around the tasks of each group, behind them; its name folds the group. */
export function GroupFrames({ of, folding }: { of: readonly Member[]; folding?: Folding }) {
  const { t } = useTranslation("parts");
  const frames = useMemo(() => framesOf(of), [of]);
  return (
    <ViewportPortal>
      {frames.flatMap(({ name, x, y, w, h }) => [
        <div
          key={`${name} ${x} ${y}`}
          className="group-frame"
          style={{ translate: `${x}px ${y}px`, width: w, height: h }}
        />,
        <GroupName key={`name of ${name} ${x} ${y}`} x={x} y={y} w={w}>
          {folding === undefined ? (
            <span className="cut">{name}</span>
          ) : (
            <button
              ref={focusAfter(name, false)}
              type="button"
              className="nopan nodrag"
              aria-expanded
              title={t("fold", { name })}
              onClick={() => folding.toggle([name])}
            >
              <IconChevronDown size={12} stroke={2} aria-hidden />
              <span className="cut">{name}</span>
            </button>
          )}
        </GroupName>,
      ])}
    </ViewportPortal>
  );
}

function GroupName({ x, y, w, children }: { x: number; y: number; w: number; children: React.ReactNode }) {
  return (
    <div className="group-name" style={{ translate: `${x}px ${y}px`, width: w }}>
      {children}
    </div>
  );
}

import { Link } from "@tanstack/react-router";
import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { styleOf } from "./State";
import { duration } from "./time";

const HEIGHT_MIN = 14;
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

interface Props {
  runs: Schemas["LastRunAnswer"][];
  /** Bars next to others are scaled to the slowest of all of them. */
  slowestS?: number;
}

/**
 * The last runs of a workflow, oldest first: height = how long, over its own slowest; shape = how it ended. A bar is too
 * narrow to be hit: one link leads to the run under the pointer, or the one that the arrow keys chose, the newest at first.
 */
export function LastRuns({ runs, slowestS = 0 }: Props) {
  const { t } = useTranslation("parts");
  const [chosen, setChosen] = useState<string | null>(null);
  const at = runs.findIndex((run) => run.id === chosen);
  const run = runs[at] ?? runs.at(-1);
  if (run === undefined) return null;
  const slowest = Math.max(...runs.map((each) => each.elapsed_s ?? 0), slowestS, 0.001);
  const said = `${run.id}: ${t(`state.${run.state}`)}, ${duration(run.elapsed_s ?? 0)}`;
  const point = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    setChosen(runs[Math.floor(((clientX - left) / width) * runs.length)]?.id ?? null);
  };
  const step = (event: KeyboardEvent) => {
    const next = runs[(at < 0 ? runs.length - 1 : at) + (STEPS[event.key] ?? 0)];
    if (!(event.key in STEPS) || next === undefined) return;
    event.preventDefault();
    setChosen(next.id);
  };
  return (
    <span className="last">
      <Link
        to="/runs/$id"
        params={{ id: run.id }}
        aria-label={said}
        aria-description={runs.length > 1 ? t("lastRunsHelp") : undefined}
        title={said}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setChosen(null)}
        onKeyDown={step}
      >
        {runs.map((each) => {
          const height = HEIGHT_MIN + (100 - HEIGHT_MIN) * ((each.elapsed_s ?? 0) / slowest);
          return (
            <i
              key={each.id}
              data-s={styleOf(each.state)}
              data-at={each.id === chosen || undefined}
              ref={(bar) => bar?.style.setProperty("--h", `${height}%`)}
            />
          );
        })}
      </Link>
    </span>
  );
}

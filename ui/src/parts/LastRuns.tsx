import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { styleOf } from "./State";
import { duration } from "./time";

const HEIGHT_MIN = 14;

interface Props {
  runs: Schemas["LastRunAnswer"][];
  /** Bars next to others are scaled to the slowest of all of them. */
  slowestS?: number;
}

/** The last runs of a workflow, oldest first: height = how long, over its own slowest; shape = how it ended. */
export function LastRuns({ runs, slowestS = 0 }: Props) {
  const { t } = useTranslation("parts");
  const slowest = Math.max(...runs.map((run) => run.elapsed_s ?? 0), slowestS, 0.001);
  return (
    <span className="last">
      {runs.map((run) => {
        const said = `${run.id}: ${t(`state.${run.state}`)}, ${duration(run.elapsed_s ?? 0)}`;
        const height = HEIGHT_MIN + (100 - HEIGHT_MIN) * ((run.elapsed_s ?? 0) / slowest);
        return (
          <Link key={run.id} to="/runs/$id" params={{ id: run.id }} aria-label={said} title={said}>
            <i data-s={styleOf(run.state)} ref={(bar) => bar?.style.setProperty("--h", `${height}%`)} />
          </Link>
        );
      })}
    </span>
  );
}

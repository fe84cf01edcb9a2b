import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { Answer, Empty } from "@/parts/Answer";
import { LastRuns } from "@/parts/LastRuns";
import { WorkflowLink } from "@/parts/Links";
import { Panel } from "@/parts/Panel";
import { State } from "@/parts/State";
import { Moment } from "@/parts/Time";
import { lastRunsOf, type Run, runsPage } from "@/runs/queries";
import { runFilterOf } from "@/runs/runFilter";

const LOOKED_AT = 50;
const SHOWN = 6;
const BARS = 12;

/** The workflows that ran last, each with its last runs. */
export function LastRunsPanel() {
  const { t } = useTranslation("now");
  const project = useProject();
  const filter = runFilterOf({}, project);
  const found = useQuery(runsPage(filter, undefined, LOOKED_AT));
  const newest = newestOfEach(found.data?.items ?? []).slice(0, SHOWN);
  const bars = useQuery(lastRunsOf(newest.map((run) => run.workflow_code).sort(), BARS));
  const byCode = new Map(bars.data?.items.map((each) => [each.code, each.runs]));
  return (
    <Panel title={t("lately")} remark={newest.length || undefined} end={<span>{t("lastTwelve")}</span>}>
      <Answer of={found} empty={<Empty title={t("noRun")} />}>
        {() => (
          <ul className="lately">
            {newest.map((run) => (
              <li key={run.workflow_code}>
                <WorkflowLink className="cut" project={run.project ?? ""} name={run.workflow ?? ""} />
                <LastRuns runs={byCode.get(run.workflow_code) ?? []} />
                <State state={run.state} />
                <span className="num mute">
                  <Moment at={run.started_at} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Panel>
  );
}

/** The newest run of each workflow that still exists, in the order of their names: rows do not change places. */
function newestOfEach(runs: Run[]): Run[] {
  const first = new Map<string, Run>();
  for (const run of runs) if (run.workflow && !first.has(run.workflow_code)) first.set(run.workflow_code, run);
  return [...first.values()]
    .slice(0, SHOWN)
    .sort((one, other) => (one.workflow ?? "").localeCompare(other.workflow ?? ""));
}

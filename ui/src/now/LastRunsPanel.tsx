import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { inOrder } from "@/lists/order";
import { Answer, Empty } from "@/parts/Answer";
import { LastRuns } from "@/parts/LastRuns";
import { WorkflowLink } from "@/parts/Links";
import { Panel } from "@/parts/Panel";
import { State } from "@/parts/State";
import { Moment } from "@/parts/Time";
import { lastRunsOf, type Run, runsPage } from "@/runs/queries";
import { runFilterOf } from "@/runs/runFilter";
import { StarIt, type Starred, useStarred } from "@/workflows/StarIt";

const LOOKED_AT = 50;
const SHOWN = 6;
const WATCHED_MAX = 50;
const BARS = 12;

/** The workflows that somebody watches, and those that ran last, each with its last runs. */
export function LastRunsPanel() {
  const { t } = useTranslation("now");
  const project = useProject();
  const found = useQuery(runsPage(runFilterOf({}, project), undefined, LOOKED_AT));
  const newest = newestOfEach(found.data?.items ?? []);
  const watched = useStarred().filter((each) => project === null || each.project === project);
  return (
    <>
      {watched.length > 0 && (
        <Panel title={t("watched")} remark={watched.length} end={<span>{t("lastTwelve")}</span>}>
          <Rows of={inOrder(watched, (each) => each.name).slice(0, WATCHED_MAX)} />
        </Panel>
      )}
      <Panel title={t("lately")} remark={newest.length || undefined} end={<span>{t("lastTwelve")}</span>}>
        <Answer of={found} empty={<Empty title={t("noRun")} />}>
          {() => <Rows of={newest} />}
        </Answer>
      </Panel>
    </>
  );
}

interface Row extends Starred {
  last?: Run;
}

function Rows({ of }: { of: Row[] }) {
  const bars = useQuery(lastRunsOf(of.map((each) => each.code).sort(), BARS));
  const byCode = new Map(bars.data?.items.map((each) => [each.code, each]));
  return (
    <ul className="lately">
      {of.map((each) => {
        const now = byCode.get(each.code); // where it is by now: it may have moved
        const runs = now?.runs ?? [];
        const last = each.last ?? runs.at(-1);
        return (
          <li key={each.code}>
            <span className="line cut">
              <WorkflowLink className="cut" project={now?.project ?? each.project} name={each.name} />
              <StarIt workflow={each} />
            </span>
            <LastRuns runs={runs} />
            <span>{last && <State state={last.state} />}</span>
            <span className="num mute">{last && <Moment at={last.started_at} />}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** The newest run of each workflow that still exists, in the order of their names: rows do not change places. */
function newestOfEach(runs: Run[]): Row[] {
  const first = new Map<string, Row>();
  for (const last of runs) {
    const { workflow_code: code, workflow: name, project } = last;
    if (name && !first.has(code)) first.set(code, { code, name, project: project ?? "", last });
  }
  return inOrder([...first.values()].slice(0, SHOWN), (each) => each.name);
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { SmallAct } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { RunLink } from "@/parts/Links";
import { Panel } from "@/parts/Panel";
import { State } from "@/parts/State";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { duration } from "@/parts/time";
import { runsPage } from "@/runs/queries";
import { runFilterOf } from "@/runs/runFilter";

/** The runs of this workflow, newest first, those of other workflows' steps too. */
export function RunsTab({ project, name }: { project: string; name: string }) {
  const { t } = useTranslation("workflow");
  const [cursor, setCursor] = useState<string>();
  const found = useQuery(runsPage(runFilterOf({ workflow: name, children: "true" }, project), cursor));
  const all = (
    <Link to="/runs" search={{ workflow: name, project }}>
      {t("filterRuns")}
    </Link>
  );
  return (
    <div className="tab">
      <Panel title={t("tab.runs")} end={all}>
        <Answer of={found} empty={<Empty title={t("noRuns")} />}>
          {(data) => (
            <Table
              heads={[
                { num: t("runColumn") },
                t("state"),
                { num: t("version") },
                { num: t("started") },
                { num: t("took") },
                t("why"),
              ]}
            >
              {data.items.map(({ id, state, version, started_at, elapsed_s, reason }) => (
                <tr key={id}>
                  <td className="num">
                    <RunLink id={id} />
                  </td>
                  <td>
                    <State state={state} />
                  </td>
                  <td className="num">{version}</td>
                  <td className="num">
                    <Moment at={started_at} />
                  </td>
                  <td className="num">{duration(elapsed_s)}</td>
                  <td className="wide" title={reason ?? undefined}>
                    {reason}
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Answer>
        {(cursor !== undefined || found.data?.has_more) && (
          <footer>
            <div className="end">
              {cursor !== undefined && <SmallAct onClick={() => setCursor(undefined)} word={t("newest")} />}
              {found.data?.has_more && (
                <SmallAct onClick={() => setCursor(found.data?.next_cursor ?? undefined)} word={t("older")} />
              )}
            </div>
          </footer>
        )}
      </Panel>
    </div>
  );
}

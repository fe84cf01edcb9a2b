import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Answer, Empty } from "@/parts/Answer";
import { LastRuns } from "@/parts/LastRuns";
import { Panel } from "@/parts/Panel";
import { styleOf } from "@/parts/State";
import { count, duration } from "@/parts/time";
import { useRun } from "../context";
import { gridOf } from "../queries";

const ROW = 28;

/** The tasks of the last runs of the workflow side by side: one column per run, the newest last. */
export function GridTab() {
  const { t } = useTranslation("run");
  const { run } = useRun();
  const grid = useQuery(gridOf(run.workflow_code));
  return (
    <Panel title={t("gridTitle")} remark={grid.data && t("gridSays", { count: grid.data.runs.length })}>
      <Answer of={grid} lines={8} isEmpty={(data) => data.runs.length === 0} empty={<Empty title={t("noRuns")} />}>
        {(data) => <Grid grid={data} />}
      </Answer>
    </Panel>
  );
}

function Grid({ grid }: { grid: Schemas["GridAnswer"] }) {
  const { t } = useTranslation("run");
  const { run } = useRun();
  const box = useRef<HTMLDivElement>(null);
  const cells = useMemo(() => new Map(grid.cells.map((cell) => [`${cell.run_id}/${cell.task_code}`, cell])), [grid]);
  const rows = useVirtualizer({
    count: grid.tasks.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 15,
  });
  const items = rows.getVirtualItems();
  const slowest = Math.max(...grid.runs.map((each) => each.elapsed_s ?? 0));
  return (
    <div className="grid-rows" ref={box}>
      <table className="grid dense" aria-rowcount={grid.tasks.length}>
        <thead>
          <tr>
            <th>{t("task")}</th>
            <th className="num opt">{t("usual")}</th>
            {grid.runs.map((each) => (
              <th key={each.id} aria-label={t("runNo", { id: each.id })} data-now={each.id === run.id || undefined}>
                <LastRuns runs={[each]} slowestS={slowest} />
              </th>
            ))}
            <td className="rest" />
          </tr>
        </thead>
        <tbody>
          {(items[0]?.start ?? 0) > 0 && <tr className="space" style={{ height: items[0]?.start }} />}
          {items.map((item) => {
            const task = grid.tasks[item.index];
            return (
              task !== undefined && (
                <tr key={task.code}>
                  <td className={task.is_current ? "" : "mute"}>{task.name}</td>
                  <td className="num mute opt">{task.usual_s != null ? duration(task.usual_s) : "–"}</td>
                  {grid.runs.map((each) => {
                    const cell = cells.get(`${each.id}/${task.code}`);
                    const word = t(`parts:state.${cell?.state ?? "NOT_BEGUN"}`);
                    const took = cell?.took_s != null ? `, ${duration(cell.took_s)}` : "";
                    const said = `${task.name}, ${t("runNo", { id: each.id })}: ${word}${took}`;
                    return (
                      <td key={each.id} data-now={each.id === run.id || undefined}>
                        <Link
                          to="/runs/$id"
                          params={{ id: each.id }}
                          search={{ task: task.name, ...(cell && { attempt: cell.id }) }}
                          aria-label={said}
                          title={said}
                        >
                          <i
                            className="st"
                            data-s={cell ? styleOf(cell.state) : "NOT_BEGUN"}
                            data-none={!cell || undefined}
                          />
                        </Link>
                      </td>
                    );
                  })}
                  <td className="rest" />
                </tr>
              )
            );
          })}
          <tr className="space" style={{ height: Math.max(0, rows.getTotalSize() - (items.at(-1)?.end ?? 0)) }} />
        </tbody>
      </table>
      {!grid.is_complete && <p className="mute note">{t("gridCut", { count: count(grid.cells.length) })}</p>}
    </div>
  );
}

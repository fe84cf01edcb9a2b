import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Schemas } from "@/api/client";
import { styleOf } from "@/parts/State";
import { duration } from "@/parts/time";
import { layersOf, type Placed } from "./layers";

const ROW_PX = 64;
/** Of a column so much is the node, the rest is for the arrows. */
const NODE_SHARE = 0.72;

/** The tasks of a small run as boxes and arrows, each with how it went; a box leads to its log. */
export function SmallGraph({ run, graph }: { run: Schemas["RunPageAnswer"]; graph: Schemas["TaskOrder"][] }) {
  const { columns, rows, tasks, arrows } = useMemo(() => layersOf(graph), [graph]);
  const attempts = new Map(run.tasks.map((task) => [task.name, task]));
  const width = 100 / (columns - 1 + NODE_SHARE);
  const height = rows * ROW_PX;
  const left = (task: Placed) => task.column * width;
  const path = ([from, to]: [Placed, Placed]) => {
    const start = left(from) + width * NODE_SHARE;
    const bend = (left(to) - start) / 2;
    const [high, low] = [from.down * height, to.down * height];
    return `M${start} ${high}C${start + bend} ${high} ${left(to) - bend} ${low} ${left(to)} ${low}`;
  };
  return (
    <div className="small-graph" style={{ height }}>
      <svg viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" aria-hidden>
        {arrows.map((arrow) => (
          <path key={`${arrow[0].name} ${arrow[1].name}`} d={path(arrow)} vectorEffect="non-scaling-stroke" />
        ))}
      </svg>
      {tasks.map((task) => {
        const attempt = attempts.get(task.name);
        return (
          <Link
            key={task.name}
            to="/runs/$id"
            params={{ id: run.id }}
            search={{ tab: "logs", task: task.name }}
            data-s={styleOf(attempt?.state ?? "NOT_BEGUN")}
            style={{ left: `${left(task)}%`, width: `${width * NODE_SHARE}%`, top: `${task.down * 100}%` }}
          >
            <i className="st" data-s={styleOf(attempt?.state ?? "NOT_BEGUN")} aria-hidden />
            <span className="cut">
              <b className="cut">{task.name}</b>
              <small>{attempt?.took_s != null ? duration(attempt.took_s) : ""}</small>
            </span>
          </Link>
        );
      })}
    </div>
  );
}

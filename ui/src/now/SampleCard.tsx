import { IconAlignLeft, IconPlayerPlay } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { useDone } from "@/forms/useDone";
import { useTopics } from "@/live/eventSource";
import { useMay } from "@/login/rights";
import { Act } from "@/parts/Act";
import { LinkAct } from "@/parts/LinkAct";
import { sayFailure } from "@/parts/notices";
import { Mark, styleOf } from "@/parts/State";
import { SureAct } from "@/parts/SureAct";
import { duration } from "@/parts/time";
import { runsPage } from "@/runs/queries";
import { runFilterOf } from "@/runs/runFilter";
import { layersOf, type Placed } from "./layers";
import { runOf, SAMPLE } from "./queries";

/** The sample workflow, which has run once while the page was opened: what it did, and what to do with it. */
export function SampleCard() {
  const { t } = useTranslation("now");
  const done = useDone("runs", "workflows");
  const found = useQuery(runsPage(runFilterOf({ workflow: SAMPLE.name }, null), undefined, 1));
  const id = found.data?.items[0]?.id ?? "";
  const run = useQuery(runOf(id)).data;
  useTopics(...(id === "" ? [] : [`run:${id}`]));
  const mayOperate = useMay("OPERATOR", null);
  const mayEdit = useMay("EDITOR", null);
  const again = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/workflow-definitions/{code}/runs", {
        params: { path: { code: SAMPLE.code }, query: { wait: 5 } },
        body: { dry_run: false, tasks: [] },
      }),
    onSuccess: (asked) => done(t("sampleStarted"), asked.run_id),
    onError: sayFailure,
  });
  const remove = useMutation({
    mutationFn: () => api.DELETE("/api/v1/workflow-definitions/{code}", { params: { path: { code: SAMPLE.code } } }),
    onSuccess: () => done(t("sampleRemoved")),
    onError: sayFailure,
  });
  const isOver = run !== undefined && ["SUCCESS", "FAILURE", "STOP", "PAUSE"].includes(run.state);
  return (
    <section className="panel sample" aria-label={t("sample")}>
      <h2>
        {run !== undefined && <Mark state={run.state} />}
        {isOver
          ? t("hello", { count: run.tasks.length, took: duration(run.elapsed_s) })
          : t(run === undefined ? "helloNot" : "helloRuns")}
      </h2>
      <p className="soft">{t("helloHint")}</p>
      {run?.graph && <SmallGraph run={run} graph={run.graph} />}
      <div className="line wrap">
        <Act
          size="xs"
          leftSection={<IconPlayerPlay size={14} stroke={1.5} />}
          loading={again.isPending}
          why={mayOperate ? null : t("mayNotOperate")}
          onClick={() => again.mutate()}
          word={t("runAgain")}
        />
        {id !== "" && (
          <LinkAct
            to="/runs/$id"
            params={{ id }}
            search={{ tab: "logs" }}
            size="xs"
            leftSection={<IconAlignLeft size={14} stroke={1.5} />}
            word={t("readLog")}
          />
        )}
        <SureAct
          size="xs"
          variant="subtle"
          loading={remove.isPending}
          why={mayEdit ? null : t("mayNotEdit")}
          onClick={() => remove.mutate()}
          word={t("removeSample")}
          sure={t("removeSure")}
        />
      </div>
    </section>
  );
}

const ROW_PX = 64;
/** Of a column so much is the node, the rest is for the arrows. */
const NODE_SHARE = 0.72;

/** The tasks of a small run as boxes and arrows, each with how it went; a box leads to its log. */
function SmallGraph({ run, graph }: { run: Schemas["RunPageAnswer"]; graph: Schemas["TaskOrder"][] }) {
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

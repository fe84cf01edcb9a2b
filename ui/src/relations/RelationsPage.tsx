import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { asked } from "@/api/reads";
import { useProject } from "@/app/ProjectSwitch";
import { useTopics } from "@/live/eventSource";
import { SmallAct } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { WorkflowLink } from "@/parts/Links";
import { Table } from "@/parts/Table";
import { useAddress } from "@/parts/useAddress";
import { connected, graphOf, type RelationGraph } from "./model";
import { RelationsCanvas } from "./RelationsCanvas";
import "./relations.css";

interface Search {
  /** `project/name` of the workflow that is looked at: only what is connected with it is shown. */
  of?: string;
  as?: "table";
}

function checked(given: Record<string, unknown>): Search {
  return {
    of: typeof given.of === "string" ? given.of : undefined,
    as: given.as === "table" ? "table" : undefined,
  };
}

/** Which workflows start, feed, or wait for which others, as a graph and as a table. */
export function RelationsPage() {
  const { t } = useTranslation("relations");
  const { of, as } = checked(useSearch({ strict: false }) as Record<string, unknown>);
  const project = useProject() ?? undefined;
  useTopics("definitions");
  const found = useQuery(
    asked(["relations", "all", project], () =>
      api.GET("/api/v1/workflow-relations", { params: { query: project === undefined ? {} : { project } } }),
    ),
  );
  const graph = useMemo(() => {
    const whole = graphOf(found.data?.items ?? []);
    return of === undefined ? whole : connected(whole, of);
  }, [found.data, of]);
  const change = useAddress<Search>();
  return (
    <div className="page relations-page">
      <div className="page-head">
        <h1>{t("title")}</h1>
        <SegmentedControl
          size="xs"
          aria-label={t("as")}
          value={as ?? "graph"}
          onChange={(value) => change({ as: value === "table" ? "table" : undefined })}
          data={[
            { value: "graph", label: t("as.graph") },
            { value: "table", label: t("as.table") },
          ]}
        />
        {of !== undefined && <SmallAct onClick={() => change({ of: undefined })} word={t("showAll")} />}
        <ul className="legend end" aria-label={t("legend")}>
          {(["SUB_PROCESS", "DYNAMIC", "TRIGGER", "DEPENDENT"] as const).map((type) => (
            <li key={type} data-type={type}>
              <i aria-hidden /> {t(`type.${type}`)}
            </li>
          ))}
        </ul>
      </div>
      <section className="panel relations-panel" data-as={as ?? "graph"}>
        <Answer
          of={found}
          lines={8}
          isEmpty={() => graph.arrows.length === 0}
          empty={
            <Empty title={t(of === undefined ? "none" : "noneOf")}>
              <p className="mute">{t("noneHelp")}</p>
              <p>
                <Link to="/workflows">{t("toWorkflows")}</Link>
              </p>
            </Empty>
          }
        >
          {() =>
            as === "table" ? (
              <RelationsTable graph={graph} />
            ) : (
              <RelationsCanvas graph={graph} chosen={of} onChoose={(key) => change({ of: key })} />
            )
          }
        </Answer>
      </section>
    </div>
  );
}

/** The same relations as rows. */
function RelationsTable({ graph }: { graph: RelationGraph }) {
  const { t } = useTranslation("relations");
  const byKey = new Map(graph.workflows.map((each) => [each.key, each]));
  const named = (key: string) => {
    const workflow = byKey.get(key);
    if (workflow === undefined || !workflow.isThere)
      return (
        <>
          {workflow?.name} <span className="mute">{t("missing")}</span>
        </>
      );
    const { project, name } = workflow;
    return (
      <>
        <WorkflowLink project={project} name={name} /> <span className="mute">{project}</span>
      </>
    );
  };
  return (
    <Table heads={[t("from"), t("how"), t("to"), t("byTasks")]}>
      {graph.arrows.map(({ key, from, to, type, tasks }) => (
        <tr key={key}>
          <td>{named(from)}</td>
          <td>{t(`type.${type}`)}</td>
          <td>{named(to)}</td>
          <td className="wide">{tasks.join(", ")}</td>
        </tr>
      ))}
    </Table>
  );
}

import { useTranslation } from "react-i18next";
import { WorkflowLink } from "@/parts/Links";
import { Table } from "@/parts/Table";
import type { RelationGraph } from "./model";

/** The same relations as rows. */
export function RelationsTable({ graph }: { graph: RelationGraph }) {
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

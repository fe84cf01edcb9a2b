import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Drawing } from "@/editor/Drawing";
import { Panel } from "@/parts/Panel";
import type { Imported } from "./Found";
import { Lines } from "./Lines";

/** The report of a workflow beside its graph, and its text below. */
export function Beside({ workflow, lines }: { workflow: Imported; lines: Schemas["ImportLine"][] }) {
  const { t } = useTranslation("importing");
  return (
    <div className="import-beside">
      <Panel title={t("reportOf", { name: workflow.name })}>
        <Lines lines={lines} first="task" />
      </Panel>
      <Panel title={t("graph")}>
        <div className="import-graph">
          <Drawing text={workflow.content} />
        </div>
        <details className="pad">
          <summary>{t("yaml")}</summary>
          <pre className="output">{workflow.content}</pre>
        </details>
      </Panel>
    </div>
  );
}

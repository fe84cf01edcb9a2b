import { lazy, Suspense, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Skeleton } from "@/parts/Answer";
import type { FaultSaid } from "./CanvasSection";
import type { EditorPart } from "./useEditing";

const YamlPane = lazy(() => import("./YamlPane"));

interface Props extends EditorPart {
  fault: FaultSaid | null;
  /** The one that is selected. */
  task: string | null;
  onTask: (task: string) => void;
}

/** The text itself, with its problems at their lines; the cursor selects the task in which it stands. */
export function YamlSection({ editing, graph, problems, isFixed, fault, task, onTask }: Props) {
  const { t } = useTranslation("editor");
  const chosen = graph.tasks.find((each) => each.name === task);
  const { line, why } = fault ?? { line: 0, why: "" };
  const marks = useMemo(
    () =>
      why !== ""
        ? [{ line, sentence: why, isWarning: false }]
        : problems.flatMap((each) => (each.line === null ? [] : [{ ...each, line: each.line }])),
    [problems, line, why],
  );
  return (
    <section className="yaml" aria-label={t("yaml")}>
      <header>
        <h2>YAML</h2>
        <span className="end">{t(isFixed ? "readOnly" : "bothLive")}</span>
      </header>
      <Suspense fallback={<Skeleton lines={12} />}>
        <YamlPane
          text={editing.text}
          isFixed={isFixed}
          lines={chosen === undefined || fault !== null ? null : [chosen.line, chosen.lastLine]}
          marks={marks}
          onText={(text) => editing.edit(() => text, "typed")}
          onLine={(at) => {
            const found = graph.tasks.find((each) => at >= each.line && at <= each.lastLine);
            if (found !== undefined && found.name !== task) onTask(found.name);
          }}
        />
      </Suspense>
    </section>
  );
}

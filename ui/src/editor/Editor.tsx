import { lazy, type ReactNode, Suspense, useDeferredValue, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useArranged } from "@/graph/arranged";
import { Skeleton } from "@/parts/Answer";
import { CanvasSection, type FaultSaid } from "./CanvasSection";
import { shapeOf, taskId, taskOf } from "./flow";
import { placed } from "./model/places";
import type { Place } from "./model/read";
import { Palette } from "./Palette";
import { Properties } from "./Properties";
import { StatusLine } from "./StatusLine";
import { useCanvasActs } from "./useCanvasActs";
import { useClipboard } from "./useClipboard";
import type { EditorPart } from "./useEditing";
import { useEditorKeys } from "./useEditorKeys";
import "./editor.css";

interface Props extends EditorPart {
  selected: string[];
  onSelect: (ids: string[]) => void;
  hasYaml: boolean;
  onYaml: (isShown: boolean) => void;
  onSave: () => void;
  /** What is known of the draft, at the end of the status line. */
  status: ReactNode;
  /** Under the fields of a task. */
  underTask?: (task: string) => ReactNode;
}

/** Palette, canvas, properties, and the YAML next to them: four views of one text. */
export function Editor(props: Props) {
  const { editing, graph, problems, isFixed, selected, onSelect, hasYaml, onYaml, onSave, status, underTask } = props;
  const { t } = useTranslation("editor");
  const root = useRef<HTMLDivElement>(null);
  const find = useRef<HTMLInputElement>(null);
  const name = useRef<HTMLInputElement>(null);
  const [after, setAfter] = useState<string | null>(null);
  const hasPlaces = Object.keys(graph.places).length > 0;
  const arrangement = useArranged(useMemo(() => (hasPlaces ? null : shapeOf(graph)), [hasPlaces, graph]));
  const places = useMemo(() => placed(graph, arrangement), [graph, arrangement]);
  const task = selected.length === 1 ? taskOf(selected[0] ?? "") : null;
  const fault = editing.fault && { ...editing.fault, why: editing.fault.said || t(`fault.${editing.fault.word}`) };
  const acts = useCanvasActs({ editing, graph, places, root, onSelect });
  const add = (type: string, at?: Place) => {
    if (acts.add(type, after, at)) setAfter(null);
  };
  useEditorKeys(root, {
    isFixed,
    onUndo: editing.undo,
    onRedo: editing.redo,
    onSave,
    onEdit: () => name.current?.focus(),
    onAddAfter: () => {
      setAfter(task);
      find.current?.focus();
    },
    onFind: () => find.current?.focus(),
  });
  const clipboard = useClipboard({ editing, places, isFixed, selected, onSelect, onRemove: acts.remove });
  const shared = { editing, graph, problems, isFixed };
  const selectTask = (chosen: string) => onSelect([taskId(chosen)]);
  return (
    <div ref={root} className="editor" data-yaml={hasYaml} data-fixed={isFixed} {...clipboard}>
      {!isFixed && (
        <Palette findRef={find} after={after} onForgetAfter={() => setAfter(null)} onAdd={(type) => add(type)} />
      )}
      <CanvasSection
        {...shared}
        fault={fault}
        places={places}
        selected={selected}
        acts={acts}
        onSelect={onSelect}
        onAdd={add}
      />
      <Properties
        {...shared}
        selected={selected}
        nameRef={name}
        onRenamed={selectTask}
        onDelete={() => acts.remove(selected)}
      >
        {underTask}
      </Properties>
      {hasYaml && <YamlSection {...shared} fault={fault} task={task} onTask={selectTask} />}
      <StatusLine
        {...shared}
        hasYaml={hasYaml}
        onYaml={onYaml}
        onProblem={(problem) => problem.task !== null && selectTask(problem.task)}
      >
        {status}
      </StatusLine>
    </div>
  );
}

const YamlPane = lazy(() => import("./YamlPane"));

interface YamlSectionProps extends EditorPart {
  fault: FaultSaid | null;
  /** The one that is selected. */
  task: string | null;
  onTask: (task: string) => void;
}

/** The text itself, with its problems at their lines; the cursor selects the task in which it stands. */
function YamlSection({ editing, graph, problems, isFixed, fault, task, onTask }: YamlSectionProps) {
  const { t } = useTranslation("editor");
  // Fields and canvas show a selection first.
  const marked = useDeferredValue(task);
  const chosen = graph.tasks.find((each) => each.name === marked);
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

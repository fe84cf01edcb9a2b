import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFolding } from "@/graph/folding";
import { Skeleton } from "@/parts/Answer";
import { sayFailure } from "@/parts/notices";
import { Canvas } from "./Canvas";
import { CanvasTools } from "./CanvasTools";
import { arrowsOf, arrowWords, foldedArrows, nodesOf, type Words, withSelected } from "./flow";
import { draw } from "./model/cases";
import { changeNote } from "./model/notes";
import { NODE } from "./model/places";
import type { Place } from "./model/read";
import { taskTypes } from "./queries";
import type { CanvasActs } from "./useCanvasActs";
import type { EditorPart } from "./useEditing";

/** Where a text cannot be read, and why. */
export interface FaultSaid {
  line: number;
  why: string;
}

interface Props extends EditorPart {
  fault: FaultSaid | null;
  places: Record<string, Place>;
  selected: string[];
  acts: CanvasActs;
  onSelect: (ids: string[]) => void;
  onAdd: (type: string, at: Place) => void;
}

/** The graph of the text; of one that cannot be read, the graph before that. */
export function CanvasSection(props: Props) {
  const { editing, graph, problems, isFixed, fault, places, selected, acts, onSelect, onAdd } = props;
  const { t } = useTranslation("editor");
  const types = useQuery(taskTypes);
  const words = useNodeWords();
  const inMaster = useMemo(
    () => new Set(types.data?.items.flatMap((type) => (type.runs_in === "MASTER" ? type.name : []))),
    [types.data],
  );
  const { edit } = editing;
  const folding = useFolding(`editor of ${graph.project}/${graph.fields.name}`);
  const nodes = useMemo(
    () =>
      nodesOf({
        graph,
        places,
        problems,
        inMaster,
        isFixed,
        words,
        folding,
        onText: (at, text) => edit((whole) => changeNote(whole, at, { text })),
        onSize: (at, w, h) => edit((whole) => changeNote(whole, at, { w, h })),
      }),
    [graph, places, problems, inMaster, isFixed, words, folding, edit],
  );
  const shown = useMemo(() => withSelected(nodes, selected), [nodes, selected]);
  const arrows = useMemo(
    () => foldedArrows(arrowsOf(graph.edges, words, isFixed), graph.tasks, folding.folded),
    [graph.edges, graph.tasks, words, isFixed, folding],
  );
  return (
    <section className="canvas-place" aria-label={t("canvas")}>
      {fault !== null && (
        <p className="canvas-fault" role="status">
          <i className="st" data-s="LATE" />
          {t("oldCanvas", { line: fault.line, why: fault.why })}
        </p>
      )}
      {graph.tasks.length > 0 && Object.keys(places).length === 0 ? (
        <Skeleton lines={6} />
      ) : (
        <Canvas
          nodes={shown}
          arrows={arrows}
          edges={graph.edges}
          isFixed={isFixed}
          folding={folding}
          onReady={acts.setFlow}
          onSelect={onSelect}
          onMoved={acts.move}
          onConnect={(from, to) => edit((text) => draw(text, from, to))}
          onRefused={(refusal) => sayFailure(new Error(t(refusal.word, refusal.values)))}
          onDelete={acts.remove}
          onDropType={(type, at) => onAdd(type, { x: at.x, y: at.y - NODE.h / 2 })}
        >
          <CanvasTools
            onArrange={isFixed ? undefined : () => void acts.arrange()}
            onNote={isFixed ? undefined : acts.addNote}
          />
        </Canvas>
      )}
      {graph.tasks.length === 0 && <p className="canvas-empty">{t(isFixed ? "noTasks" : "emptyCanvas")}</p>}
    </section>
  );
}

/** What nodes and arrows are called, for those who do not see them. */
export function useNodeWords(): Words {
  const { t } = useTranslation("editor");
  return useMemo(
    () => ({
      task: (task, wrong) =>
        [
          task.name,
          task.type,
          task.after.length > 0 ? t("after", { tasks: task.after.join(", ") }) : t("first"),
          ...(wrong > 0 ? [t("problems", { count: wrong })] : []),
        ].join(", "),
      note: (text) => `${t("note")}: ${text}`,
      ...arrowWords(t),
    }),
    [t],
  );
}

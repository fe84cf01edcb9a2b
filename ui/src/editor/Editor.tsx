import { useQuery } from "@tanstack/react-query";
import type { ReactFlowInstance } from "@xyflow/react";
import { type ClipboardEvent, lazy, type ReactNode, Suspense, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { arranged, useArranged } from "@/graph/arranged";
import { Skeleton } from "@/parts/Answer";
import { say, sayFailure } from "@/parts/notices";
import { Canvas } from "./Canvas";
import { CanvasTools } from "./CanvasTools";
import { arrowsOf, type CanvasNode, nodesOf, noteId, noteOf, shapeOf, taskId, taskOf, type Words } from "./flow";
import { copied, pasted } from "./model/clipboard";
import { addTask, connect, disconnect, moveTasks, removeTasks } from "./model/edits";
import { addNote, changeNote, removeNotes } from "./model/notes";
import { free, NODE, placed } from "./model/places";
import type { Problem } from "./model/problems";
import type { Graph, Place } from "./model/read";
import { Palette } from "./Palette";
import { Properties } from "./Properties";
import { taskTypes } from "./queries";
import { StatusLine } from "./StatusLine";
import type { Editing } from "./useEditing";
import { useEditorKeys } from "./useEditorKeys";
import "./editor.css";

const YamlPane = lazy(() => import("./YamlPane"));

interface Props {
  editing: Editing;
  graph: Graph;
  problems: Problem[];
  isFixed: boolean;
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

/** Palette, canvas, properties, and the YAML beside them: four views of one text. */
export function Editor(props: Props) {
  const { editing, graph, problems, isFixed, selected, onSelect, hasYaml, onYaml, onSave, status, underTask } = props;
  const { t } = useTranslation("editor");
  const types = useQuery(taskTypes);
  const root = useRef<HTMLDivElement>(null);
  const find = useRef<HTMLInputElement>(null);
  const name = useRef<HTMLInputElement>(null);
  const flow = useRef<ReactFlowInstance<CanvasNode> | null>(null);
  const [after, setAfter] = useState<string | null>(null);
  const hasPlaces = Object.keys(graph.places).length > 0;
  const arrangement = useArranged(hasPlaces ? null : shapeOf(graph));
  const places = useMemo(() => placed(graph, arrangement), [graph, arrangement]);
  const inMaster = useMemo(
    () => new Set(types.data?.items.flatMap((type) => (type.runs_in === "MASTER" ? type.name : []))),
    [types.data],
  );
  const words = useMemo<Words>(
    () => ({
      task: (task, wrong) =>
        [
          task.name,
          task.type,
          task.after.length > 0 ? t("after", { tasks: task.after.join(", ") }) : t("first"),
          ...(wrong > 0 ? [t("problems", { count: wrong })] : []),
        ].join(", "),
      note: (text) => `${t("note")}: ${text}`,
      arrow: ({ from, to }) => t("arrow", { from, to }),
      branch: (branch) => t(`branch.${branch}`, { defaultValue: branch }),
    }),
    [t],
  );
  const { edit } = editing;
  const nodes = useMemo(
    () =>
      nodesOf({
        graph,
        places,
        problems,
        inMaster,
        selected: new Set(selected),
        isFixed,
        words,
        onText: (at, text) => edit((whole) => changeNote(whole, at, { text })),
        onSize: (at, w, h) => edit((whole) => changeNote(whole, at, { w, h })),
      }),
    [graph, places, problems, inMaster, selected, isFixed, words, edit],
  );
  const arrows = useMemo(() => arrowsOf(graph.edges, words, isFixed), [graph.edges, words, isFixed]);
  const task = selected.length === 1 ? taskOf(selected[0] ?? "") : null;
  const chosen = graph.tasks.find((each) => each.name === task);

  const add = (type: string, at?: Place) => {
    const above = after !== null ? places[after] : undefined;
    const middle = root.current?.querySelector(".canvas")?.getBoundingClientRect();
    const seen =
      middle !== undefined && flow.current !== null
        ? flow.current.screenToFlowPosition({ x: middle.x + middle.width / 2, y: middle.y + middle.height / 3 })
        : { x: NODE.w / 2, y: 0 };
    const wanted = at ?? (above ? { x: above.x + NODE.w / 2, y: above.y + 2 * NODE.h } : seen);
    const place = free(
      { x: snapped(wanted.x - NODE.w / 2), y: snapped(wanted.y) },
      at === undefined ? Object.values(places) : [],
    );
    let made = "";
    const isDone = edit((text) => {
      const found = addTask(moveTasks(text, places), { type, after: after === null ? [] : [after], place });
      made = found.name;
      return found.text;
    });
    if (!isDone) return;
    setAfter(null);
    onSelect([taskId(made)]);
  };
  const move = (moved: Record<string, Place>) => {
    edit((text) => {
      const tasks = Object.entries(moved).flatMap(([id, at]) => {
        const found = taskOf(id);
        return found === null ? [] : [[found, at] as const];
      });
      let next = tasks.length > 0 ? moveTasks(text, { ...places, ...Object.fromEntries(tasks) }) : text;
      for (const [id, at] of Object.entries(moved)) {
        const note = noteOf(id);
        if (note !== null) next = changeNote(next, note, at);
      }
      return next;
    }, "move");
  };
  const removeNodes = (ids: string[], cut: { source: string; target: string }[] = []) => {
    const names = ids.flatMap((id) => taskOf(id) ?? []);
    const notes = ids.flatMap((id) => noteOf(id) ?? []);
    edit((text) => {
      let next = text;
      for (const { source, target } of cut) {
        const [from, to] = [taskOf(source), taskOf(target)];
        if (from !== null && to !== null && !names.includes(to)) next = disconnect(next, from, to);
      }
      if (names.length > 0) next = removeTasks(next, names);
      return notes.length > 0 ? removeNotes(next, notes) : next;
    });
    if (ids.length > 0) onSelect([]);
  };
  const arrangeAll = async () => {
    const next = await arranged(shapeOf(graph));
    edit((text) => moveTasks(text, next));
    requestAnimationFrame(() => void flow.current?.fitView({ maxZoom: 1, padding: 0.12, duration: 200 }));
  };
  const note = () => {
    const low = Math.max(0, ...Object.values(places).map((at) => at.y + NODE.h));
    edit((text) => addNote(text, { text: t("newNote"), x: 0, y: low + 40, w: 180, h: 60 }));
    onSelect([noteId(graph.notes.length)]);
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
  const isTyping = (event: ClipboardEvent) =>
    event.target instanceof HTMLElement && event.target.closest("input, textarea, .cm-editor") !== null;
  const copy = (event: ClipboardEvent, isCut: boolean) => {
    const names = selected.flatMap((id) => taskOf(id) ?? []);
    if (isTyping(event) || names.length === 0) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", copied(editing.text, names, places));
    if (isCut && !isFixed) removeNodes(selected);
    else say(t("copied", { count: names.length }));
  };
  const paste = (event: ClipboardEvent) => {
    if (isTyping(event) || isFixed) return;
    event.preventDefault();
    let names: string[] = [];
    const clip = event.clipboardData.getData("text/plain");
    const isDone = edit((text) => {
      const found = pasted(moveTasks(text, places), clip);
      names = found.names;
      return found.text;
    });
    if (isDone) onSelect(names.map(taskId));
  };
  const lines = useMemo<[number, number] | null>(
    () => (chosen === undefined || editing.fault !== null ? null : [chosen.line, chosen.lastLine]),
    [chosen, editing.fault],
  );
  const marks = useMemo(
    () => [
      ...(editing.fault === null
        ? problems.flatMap(({ line, sentence, isWarning }) => (line === null ? [] : [{ line, sentence, isWarning }]))
        : [
            {
              line: editing.fault.line,
              sentence: editing.fault.said || t(`fault.${editing.fault.word}`),
              isWarning: false,
            },
          ]),
    ],
    [problems, editing.fault, t],
  );
  return (
    <div
      ref={root}
      className="editor"
      data-yaml={hasYaml}
      data-fixed={isFixed}
      onCopy={(event) => copy(event, false)}
      onCut={(event) => copy(event, true)}
      onPaste={paste}
    >
      {!isFixed && (
        <Palette findRef={find} after={after} onForgetAfter={() => setAfter(null)} onAdd={(type) => add(type)} />
      )}
      <section className="canvas-place" aria-label={t("canvas")}>
        {editing.fault !== null && (
          <p className="canvas-fault" role="status">
            <i className="st" data-s="LATE" />
            {t("oldCanvas", { line: editing.fault.line, why: editing.fault.said || t(`fault.${editing.fault.word}`) })}
          </p>
        )}
        {graph.tasks.length > 0 && Object.keys(places).length === 0 ? (
          <Skeleton lines={6} />
        ) : (
          <Canvas
            nodes={nodes}
            arrows={arrows}
            edges={graph.edges}
            isFixed={isFixed}
            onReady={(made) => {
              flow.current = made;
            }}
            onSelect={onSelect}
            onMoved={move}
            onConnect={(from, to) => edit((text) => connect(text, from, to))}
            onRefused={(refusal) => sayFailure(new Error(t(refusal.word, refusal.values)))}
            onDelete={(ids, cut) => removeNodes(ids, cut)}
            onDropType={(type, at) => add(type, { x: at.x, y: at.y - NODE.h / 2 })}
          >
            <CanvasTools
              onArrange={isFixed ? undefined : () => void arrangeAll()}
              onNote={isFixed ? undefined : note}
            />
          </Canvas>
        )}
        {graph.tasks.length === 0 && <p className="canvas-empty">{t(isFixed ? "noTasks" : "emptyCanvas")}</p>}
      </section>
      <Properties
        graph={graph}
        editing={editing}
        problems={problems}
        selected={selected}
        isFixed={isFixed}
        nameRef={name}
        onRenamed={(next) => onSelect([taskId(next)])}
        onDelete={() => removeNodes(selected)}
      >
        {underTask}
      </Properties>
      {hasYaml && (
        <section className="yaml" aria-label={t("yaml")}>
          <header>
            <h2>YAML</h2>
            <span className="end">{t(isFixed ? "readOnly" : "bothLive")}</span>
          </header>
          <Suspense fallback={<Skeleton lines={12} />}>
            <YamlPane
              text={editing.text}
              isFixed={isFixed}
              lines={lines}
              marks={marks}
              onText={(text) => edit(() => text, "typed")}
              onLine={(line) => {
                const at = graph.tasks.find((each) => line >= each.line && line <= each.lastLine);
                if (at !== undefined && at.name !== task) onSelect([taskId(at.name)]);
              }}
            />
          </Suspense>
        </section>
      )}
      <StatusLine
        graph={graph}
        editing={editing}
        isFixed={isFixed}
        problems={problems}
        hasYaml={hasYaml}
        onYaml={onYaml}
        onProblem={(problem) => problem.task !== null && onSelect([taskId(problem.task)])}
      >
        {status}
      </StatusLine>
    </div>
  );
}

function snapped(number: number): number {
  return Math.round(number / 10) * 10;
}

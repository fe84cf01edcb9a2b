import { Button, Popover, UnstyledButton } from "@mantine/core";
import { IconCode } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Facts, Kbd } from "@/parts/Facts";
import { Look } from "@/parts/State";
import { Fixes } from "./Fixes";
import type { Problem } from "./model/problems";
import type { EditorPart } from "./useEditing";

interface Props extends EditorPart {
  hasYaml: boolean;
  onYaml: (isShown: boolean) => void;
  onProblem: (problem: Problem) => void;
  children: ReactNode;
}

const KEYS = ["Tab", "A", "Enter", "← ↑ ↓ →", "Delete", "Ctrl Z", "Ctrl Y", "Ctrl C", "Ctrl V", "Ctrl S"];

/** Under the canvas: what is wrong, how large it is, what is saved, and the keys. */
export function StatusLine({ graph, editing, isFixed, problems, hasYaml, onYaml, onProblem, children }: Props) {
  const { t } = useTranslation("editor");
  const wrong = problems.filter((problem) => !problem.isWarning).length;
  const state = wrong > 0 ? "FAILURE" : problems.length > 0 ? "LATE" : "SUCCESS";
  const word =
    wrong > 0
      ? t("problems", { count: wrong })
      : problems.length > 0
        ? t("warnings", { count: problems.length })
        : t("noProblem");
  return (
    <footer className="editor-status">
      {problems.length === 0 ? (
        <Look of={state} word={word} />
      ) : (
        <Popover width={420} position="top-start" withArrow>
          <Popover.Target>
            <UnstyledButton className="state" data-s={state}>
              {word}
            </UnstyledButton>
          </Popover.Target>
          <Popover.Dropdown>
            <ul className="problem-list">
              {problems.map((problem) => (
                <li key={`${problem.line} ${problem.sentence}`}>
                  <button type="button" className="task-problem" onClick={() => onProblem(problem)}>
                    <i className="st" data-s={problem.isWarning ? "LATE" : "FAILURE"} />
                    <span>{problem.sentence}</span>
                  </button>
                  {!isFixed && <Fixes problem={problem} graph={graph} editing={editing} />}
                </li>
              ))}
            </ul>
          </Popover.Dropdown>
        </Popover>
      )}
      <span className="wide">{t("size", { tasks: graph.tasks.length, arrows: graph.edges.length })}</span>
      <span className="end">
        {children}
        <Popover width={360} position="top-end" withArrow>
          <Popover.Target>
            <Button size="compact-xs" variant="subtle" className="wide">
              {t("keys")}
            </Button>
          </Popover.Target>
          <Popover.Dropdown>
            <Facts className="key-list" of={KEYS.map((key) => [<Kbd key={key} of={key} />, t(`key.${key}`)])} />
          </Popover.Dropdown>
        </Popover>
        <Button
          size="compact-xs"
          variant={hasYaml ? "light" : "subtle"}
          aria-pressed={hasYaml}
          leftSection={<IconCode size={14} aria-hidden />}
          onClick={() => onYaml(!hasYaml)}
        >
          YAML
        </Button>
      </span>
    </footer>
  );
}

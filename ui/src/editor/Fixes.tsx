import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { fixesOf } from "./model/fixes";
import type { Problem } from "./model/problems";
import type { Graph } from "./model/read";
import type { Editing } from "./useEditing";

const SHOWN_MAX = 4;

/** What can be done about a problem, as buttons below it. */
export function Fixes({ problem, graph, editing }: { problem: Problem; graph: Graph; editing: Editing }) {
  const { t } = useTranslation("editor");
  const fixes = editing.fault === null ? fixesOf(problem, graph).slice(0, SHOWN_MAX) : [];
  if (fixes.length === 0) return null;
  return (
    <div className="fixes">
      {fixes.map((fix) => (
        <Button
          key={`${fix.word} ${Object.values(fix.values).join(" ")}`}
          size="compact-xs"
          variant="default"
          onClick={() => editing.edit(fix.apply)}
        >
          {t(fix.word, fix.values)}
        </Button>
      ))}
    </div>
  );
}

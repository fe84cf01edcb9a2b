import { Checkbox } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { changedWorkflow, saveDraft } from "@/editor/queries";
import { SmallAct } from "@/parts/Act";
import { Empty } from "@/parts/Answer";
import { say, sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Beside } from "./Beside";
import { GRADES, Grade, Lines } from "./Lines";
import { SaveDialog } from "./SaveDialog";

export type Imported = Schemas["ImportedWorkflow"];

/** What an import gave: a row for each workflow, its report beside its graph, and what can be done with the chosen. */
export function Found({ found }: { found: Schemas["ImportAnswer"] }) {
  const { t } = useTranslation("importing");
  const { workflows, lines } = found;
  const [chosen, setChosen] = useState<ReadonlySet<Imported>>(new Set(workflows));
  const [shown, setShown] = useState(workflows[0]);
  const [isSaving, setIsSaving] = useState(false);
  const picked = workflows.filter((each) => chosen.has(each));
  const draft = useMutation({
    mutationFn: async () => {
      const done = await Promise.allSettled(
        picked.map(({ project, name, content }) => saveDraft(project, name, content, undefined)),
      );
      const failed = done.flatMap((each, at) =>
        each.status === "rejected" ? `${picked[at]?.name}: ${(each.reason as Error).message}` : [],
      );
      return { saved: done.length - failed.length, failed };
    },
    onSuccess: ({ saved, failed }) => {
      changedWorkflow();
      if (saved > 0) say(t("drafted", { count: saved }));
      if (failed.length > 0) sayFailure(new Error(failed.join(" ")));
    },
  });
  const toggle = (workflow: Imported) => {
    const next = new Set(chosen);
    if (!next.delete(workflow)) next.add(workflow);
    setChosen(next);
  };
  const why = picked.length === 0 ? t("pickFirst") : null;
  const open = picked.filter((each) => each.grade === "todo").map((each) => each.name);
  const whole = lines.filter((line) => !workflows.some((each) => isOf(line, each)));
  return (
    <>
      {whole.length > 0 && (
        <Panel title={t("ofFiles")}>
          <Lines lines={whole} first="file" />
        </Panel>
      )}
      <Panel
        title={t("found")}
        remark={GRADES.map((grade) => ({ grade, count: workflows.filter((each) => each.grade === grade).length }))
          .filter((each) => each.count > 0)
          .map(({ grade, count }) => `${count} ${t(`grade.${grade}`)}`)
          .join(" · ")}
        end={
          <>
            <SmallAct why={why} loading={draft.isPending} onClick={() => draft.mutate()} word={t("asDrafts")} />
            <SmallAct
              variant="filled"
              why={why ?? (open.length > 0 ? t("todoFirst", { names: open.join(", ") }) : null)}
              onClick={() => setIsSaving(true)}
              word={t("save")}
            />
          </>
        }
      >
        {workflows.length === 0 ? (
          <Empty title={t("none")} />
        ) : (
          <Table
            className="imported"
            heads={[
              <th key="pick" className="check" aria-label={t("pick")} />,
              t("workflow"),
              t("project"),
              t("file"),
              t("gradeHead"),
            ]}
          >
            {workflows.map((each) => (
              <tr key={each.content} aria-selected={each === shown}>
                <td className="check">
                  <Checkbox
                    size="xs"
                    radius="xs"
                    aria-label={t("pickOne", { name: each.name })}
                    checked={chosen.has(each)}
                    onChange={() => toggle(each)}
                  />
                </td>
                <td>
                  <SmallAct size="compact-sm" variant="subtle" onClick={() => setShown(each)} word={each.name} />
                </td>
                <td className="soft">{each.project}</td>
                <td className="soft">{each.file}</td>
                <td>
                  <Grade of={each.grade} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
      {shown && <Beside workflow={shown} lines={lines.filter((line) => isOf(line, shown))} />}
      {isSaving && <SaveDialog picked={picked} pools={found.pools ?? null} onClose={() => setIsSaving(false)} />}
    </>
  );
}

function isOf(line: Schemas["ImportLine"], { file, workflow }: Imported): boolean {
  return line.file === file && line.workflow === workflow;
}

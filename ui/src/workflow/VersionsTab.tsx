import { Radio, SegmentedControl } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueries } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match } from "@/api/client";
import { comparable } from "@/editor/model/compare";
import { changedWorkflow, type Head } from "@/editor/queries";
import { FormDialog } from "@/forms/FormDialog";
import { useMay } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer, Failure, Skeleton } from "@/parts/Answer";
import { More } from "@/parts/More";
import { say } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { GraphDiff } from "./GraphDiff";
import { versionsOf, versionText } from "./queries";
import { useWorkflowSearch, type WorkflowSearch } from "./search";

const YamlDiff = lazy(() => import("./YamlDiff"));

/** What was saved, by whom and when; two versions compared as YAML and as graphs; and the way back. */
export function VersionsTab({ head }: { head: Head }) {
  const { t } = useTranslation("workflow");
  const { search, change } = useWorkflowSearch();
  const mayEdit = useMay("EDITOR", head.project);
  const found = useInfiniteQuery(versionsOf(head.code));
  const [wanted, setWanted] = useState<number | null>(null);
  const newer = search.newer ?? head.version;
  const older = search.older ?? Math.max(1, newer - 1);
  return (
    <div className="tab versions">
      <Panel title={t("tab.versions")}>
        <Answer of={found}>
          {({ items }) => (
            <Table
              heads={[
                t("olderColumn"),
                t("newerColumn"),
                { num: t("version") },
                t("by"),
                t("saved"),
                { num: t("tasks") },
                { num: t("runsColumn") },
                <td key="end" className="end-cell" />,
              ]}
            >
              {items.map((each) => (
                <tr key={each.version} aria-selected={each.version === older || each.version === newer}>
                  <td>
                    <Radio
                      name="older"
                      size="xs"
                      aria-label={t("pickOlder", { version: each.version })}
                      checked={each.version === older}
                      onChange={() => change({ older: each.version, newer })}
                    />
                  </td>
                  <td>
                    <Radio
                      name="newer"
                      size="xs"
                      aria-label={t("pickNewer", { version: each.version })}
                      checked={each.version === newer}
                      onChange={() => change({ newer: each.version, older })}
                    />
                  </td>
                  <td className="num">
                    <b>{each.version}</b>
                  </td>
                  <td>{each.created_by}</td>
                  <td>
                    <Moment at={each.created_at} />
                  </td>
                  <td className="num">{each.tasks}</td>
                  <td className="num">{each.runs}</td>
                  <td className="end-cell">
                    {each.is_current ? (
                      <span className="tag">{t("current")}</span>
                    ) : (
                      <Act
                        size="compact-xs"
                        variant="default"
                        why={!mayEdit ? t("editRole", { project: head.project }) : null}
                        onClick={() => setWanted(each.version)}
                        word={t("rollBack")}
                      />
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Answer>
        <More of={found} word={t("olderVersions")} />
      </Panel>
      {older === newer ? (
        <p className="mute">{t("sameVersion")}</p>
      ) : (
        <Comparison
          code={head.code}
          older={older}
          newer={newer}
          view={search.view ?? "beside"}
          onView={(view) => change({ view: view === "beside" ? undefined : view })}
        />
      )}
      {wanted !== null && <RollBackDialog head={head} version={wanted} onClose={() => setWanted(null)} />}
    </div>
  );
}

type View = NonNullable<WorkflowSearch["view"]>;

interface ComparisonProps {
  code: string;
  older: number;
  newer: number;
  view: View;
  onView: (view: View) => void;
}

function Comparison({ code, older, newer, view, onView }: ComparisonProps) {
  const { t } = useTranslation("workflow");
  const versions = [older, newer] as const;
  const [written, alsoWritten] = useQueries({ queries: versions.map((each) => versionText(code, each, false)) });
  // A text that a person wrote and one made from the definition differ in layout, not in content.
  const isMixed =
    written?.data !== undefined &&
    alsoWritten?.data !== undefined &&
    written.data.is_as_written !== alsoWritten.data.is_as_written;
  const [before, after] = useQueries({
    queries: [versionText(code, older, isMixed), versionText(code, newer, isMixed)],
  });
  const error = before.error ?? after.error;
  const texts = useMemo(
    () => [comparable(before.data?.yaml ?? ""), comparable(after.data?.yaml ?? "")] as const,
    [before.data, after.data],
  );
  const views = (
    <SegmentedControl
      size="xs"
      aria-label={t("view")}
      value={view}
      onChange={(chosen) => onView(chosen as View)}
      data={(["beside", "one", "graph"] as const).map((value) => ({ value, label: t(`view.${value}`) }))}
    />
  );
  return (
    <Panel title={t("fromTo", { older, newer })} end={views}>
      {error !== null && <Failure error={error} />}
      {before.data === undefined || after.data === undefined ? (
        error === null && <Skeleton lines={8} />
      ) : view === "graph" ? (
        <GraphDiff older={before.data.yaml} newer={after.data.yaml} />
      ) : texts[0] === texts[1] ? (
        <p className="pad mute">{t("noDifference")}</p>
      ) : (
        <Suspense fallback={<Skeleton lines={8} />}>
          <YamlDiff key={view} older={texts[0]} newer={texts[1]} isBeside={view === "beside"} />
        </Suspense>
      )}
    </Panel>
  );
}

/** Says what rolling back does, and does it. */
function RollBackDialog({ head, version, onClose }: { head: Head; version: number; onClose: () => void }) {
  const { t } = useTranslation("workflow");
  const { change } = useWorkflowSearch();
  const back = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/workflow-definitions/{code}/roll-back", {
        params: { path: { code: head.code }, header: match(head.version) },
        body: { version },
      }),
    onSuccess: (saved) => {
      onClose();
      changedWorkflow();
      change({ older: undefined, newer: undefined });
      say(t(saved.is_new_version ? "rolledBack" : "publishedSame", { from: version, version: saved.version }));
    },
  });
  return (
    <FormDialog title={t("rollBackTitle", { version })} verb={t("rollBack")} sending={back} isFirst onClose={onClose}>
      <p>{t("rollBackMeans", { version, next: head.version + 1 })}</p>
    </FormDialog>
  );
}

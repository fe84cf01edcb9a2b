import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { useFilters } from "@/lists/filters";
import "@/lists/lists.css";
import { useTopics } from "@/live/eventSource";
import { Failure, Skeleton } from "@/parts/Answer";
import { FirstSteps } from "./FirstSteps";
import { HealthLine } from "./HealthLine";
import { LastRunsPanel } from "./LastRunsPanel";
import { NeedsYou } from "./NeedsYou";
import { Next } from "./Next";
import "./now.css";
import { firstWorkflows, SAMPLE } from "./queries";
import { Running } from "./Running";

const WhyDialog = lazy(async () => ({ default: (await import("@/runs/WhyDialog")).WhyDialog }));

/** The first screen: is it healthy, what is broken, what runs, what is late, what comes next. */
export function NowPage() {
  // All words of the page at once: a part that waits for its words would blank the page.
  const { t } = useTranslation(["now", "app", "lists", "runs", "palette"]);
  const { place } = useFilters();
  const search: { why?: string; task?: string } = useSearch({ strict: false });
  useTopics("runs", "definitions", "queue", "cluster");
  const workflows = useQuery(firstWorkflows);
  const isFresh = workflows.data?.items.every((each) => each.code === SAMPLE.code) ?? false;
  return (
    <div className="page now">
      <h1 className="unseen">{t("title")}</h1>
      <HealthLine isShort={isFresh} />
      {workflows.data === undefined ? (
        workflows.error === null ? (
          <Skeleton lines={8} />
        ) : (
          <Failure error={workflows.error} again={() => void workflows.refetch()} />
        )
      ) : isFresh ? (
        <FirstSteps hasSample={workflows.data.items.length === 1} />
      ) : (
        <div className="now-columns">
          <div>
            <NeedsYou />
            <LastRunsPanel />
          </div>
          <div>
            <Running />
            <Next />
          </div>
        </div>
      )}
      {search.why !== undefined && (
        <Suspense fallback={null}>
          <WhyDialog
            run={String(search.why)}
            task={search.task}
            onClose={() => place({ why: undefined, task: undefined })}
          />
        </Suspense>
      )}
    </div>
  );
}

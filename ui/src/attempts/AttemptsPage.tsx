import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { workers } from "@/cluster/queries";
import { filterWords, textOf, useFilters } from "@/lists/filters";
import { ListHead } from "@/lists/ListHead";
import { Pager } from "@/lists/Pager";
import { useRowKeys } from "@/lists/useRowKeys";
import "@/lists/lists.css";
import { useTopics } from "@/live/browser";
import { Answer, Empty } from "@/parts/Answer";
import { WhyDialog } from "@/runs/WhyDialog";
import { AttemptFilters } from "./AttemptFilters";
import { AttemptTable } from "./AttemptTable";
import { attemptFilterOf, attemptsPage, PAGE } from "./queries";

/** Attempts of tasks across all runs, newest first, by the filters in the address. */
export function AttemptsPage() {
  // All words of the page at once: a part that waits for its words would blank the page.
  const { t } = useTranslation(["attempts", "lists", "runs"]);
  const project = useProject();
  const navigate = useNavigate();
  const filters = useFilters();
  const { search, place } = filters;
  const [isHelp, setIsHelp] = useState(false);
  useTopics("runs");
  const filter = useMemo(() => attemptFilterOf(search, project), [search, project]);
  const found = useQuery(attemptsPage(filter, textOf(search, "cursor")));
  const names = useQuery(workers);
  const attempts = useMemo(() => found.data?.items ?? [], [found.data]);
  const ids = useMemo(() => attempts.map((each) => each.id), [attempts]);
  const why = attempts.find((each) => each.id === textOf(search, "why"));
  const open = (tab?: string) => (id: string) => {
    const attempt = attempts.find((each) => each.id === id);
    if (attempt === undefined) return;
    const of = { task: attempt.name, ...(tab !== undefined && { tab }) };
    void navigate({ to: "/runs/$id", params: { id: attempt.run_id }, search: of });
  };
  const at = textOf(search, "row") ?? null;
  useRowKeys({
    ids,
    at,
    go: (row) => place({ row }),
    help: () => setIsHelp(true),
    keys: { enter: open(), l: open("logs"), w: (id) => place({ why: id }) },
  });
  const builtIn = [
    { name: t("view.all"), filter: {} },
    { name: t("view.running"), filter: { state: ["RUNNING_EXECUTION"] } },
    { name: t("view.waiting"), filter: { state: ["QUEUED", "DISPATCH", "DELAY_EXECUTION"] } },
    { name: t("view.failed"), filter: { since: "7d", state: ["FAILURE"] } },
    { name: t("view.lost"), filter: { state: ["NEED_FAULT_TOLERANCE"] } },
  ];
  return (
    <div className="page">
      <ListHead
        title={t("title")}
        list="task-instances"
        builtIn={builtIn}
        filters={filters}
        keys={["/", "j", "k", "Enter", "w", "l", "?"].map((key) => [key, t(`key.${key}`)])}
        isHelp={isHelp}
        onHelp={setIsHelp}
      >
        <Button size="xs" variant="default" component={Link} to="/runs">
          {t("runs")}
        </Button>
      </ListHead>
      <AttemptFilters filters={filters} />
      <section className="panel" aria-label={t("title")} aria-busy={found.isPlaceholderData}>
        <Answer
          of={found}
          lines={10}
          empty={
            <Empty title={t("none")}>
              <p>{Object.keys(filterWords(search)).length > 0 ? t("noneFiltered") : t("noneYet")}</p>
            </Empty>
          }
        >
          {() => (
            <AttemptTable
              attempts={attempts}
              workers={new Map(names.data?.items.map((each) => [each.epoch, each.name]))}
              at={at}
              onGo={(row) => place({ row })}
            />
          )}
        </Answer>
        {(attempts.length > 0 || found.data?.has_more) && (
          <footer>
            <div className="end">
              <Pager
                filters={filters}
                next={found.data?.has_more ? found.data.next_cursor : null}
                size={PAGE}
                shown={attempts.length}
                number={null}
              />
            </div>
          </footer>
        )}
      </section>
      {why !== undefined && <WhyDialog run={why.run_id} task={why.name} onClose={() => place({ why: undefined })} />}
    </div>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { workers } from "@/cluster/queries";
import { ChoiceChip } from "@/lists/ChoiceChip";
import { FilterBar } from "@/lists/FilterBar";
import { type Filters, oneOf, textOf, textsOf } from "@/lists/filters";
import { TextChip } from "@/lists/TextChip";
import { TimeChip } from "@/lists/TimeChip";
import { State } from "@/parts/State";
import { workflowNames } from "@/runs/queries";
import { STATES, taskTypes } from "./queries";

/** The filters of attempts. */
export function AttemptFilters({ filters }: { filters: Filters }) {
  const { t } = useTranslation("attempts");
  const parts = useTranslation("parts").t;
  const { search, change } = filters;
  const workflows = useQuery(workflowNames(useProject()));
  const found = useQuery(workers);
  const types = useQuery(taskTypes);
  const groups = [...new Set(found.data?.items.flatMap((each) => each.groups ?? []) ?? [])];
  const text = (word: "name" | "workflow" | "worker" | "worker_group", known?: string[]) => (
    <TextChip
      name={t(word)}
      value={textOf(search, word)}
      {...(known && { known })}
      onChange={(value) => change({ [word]: value })}
    />
  );
  return (
    <FilterBar filters={filters} hint={t("searchHint")}>
      <TimeChip search={search} onChange={change} />
      <ChoiceChip
        name={t("state")}
        all={STATES}
        chosen={oneOf(search, "state", STATES)}
        label={(state) => <State state={state} />}
        text={(state) => parts(`state.${state}`)}
        onChange={(state) => change({ state })}
      />
      <ChoiceChip
        name={t("type")}
        all={types.data?.items.map((each) => each.name) ?? []}
        chosen={textsOf(search, "type")}
        label={(type) => type}
        text={(type) => type}
        onChange={(type) => change({ type })}
      />
      {text("name")}
      {text("workflow", workflows.data?.items.map((each) => each.name) ?? [])}
      {text("worker", found.data?.items.map((each) => each.name) ?? [])}
      {text("worker_group", groups)}
    </FilterBar>
  );
}

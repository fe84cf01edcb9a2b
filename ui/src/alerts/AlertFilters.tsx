import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { ChoiceChip } from "@/lists/ChoiceChip";
import { FilterBar } from "@/lists/FilterBar";
import { type Filters, oneOf, textOf } from "@/lists/filters";
import { TextChip } from "@/lists/TextChip";
import { workflowNames } from "@/runs/queries";
import { KINDS, RESULTS } from "./queries";

/** The filters of alerts. */
export function AlertFilters({ filters }: { filters: Filters }) {
  const { t } = useTranslation("alerts");
  const { search, change } = filters;
  const workflows = useQuery(workflowNames(useProject()));
  const known = workflows.data?.items.map((each) => each.name) ?? [];
  return (
    <FilterBar filters={filters}>
      <ChoiceChip
        name={t("result")}
        all={RESULTS}
        chosen={oneOf(search, "result", RESULTS).slice(0, 1)}
        label={(result) => t(`result.${result}`)}
        text={(result) => t(`result.${result}`)}
        // One at a time: the last that was pressed.
        onChange={(chosen) => change({ result: chosen.at(-1) })}
      />
      <ChoiceChip
        name={t("kind")}
        all={KINDS}
        chosen={oneOf(search, "kind", KINDS)}
        label={(kind) => t(`kind.${kind}`)}
        text={(kind) => t(`kind.${kind}`)}
        onChange={(kind) => change({ kind })}
      />
      <TextChip
        name={t("workflow")}
        value={textOf(search, "workflow")}
        known={known}
        onChange={(workflow) => change({ workflow })}
      />
      <TextChip name={t("run")} value={textOf(search, "run")} onChange={(run) => change({ run })} />
    </FilterBar>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { ChoiceChip } from "@/lists/ChoiceChip";
import { FilterBar } from "@/lists/FilterBar";
import { type Filters, oneOf, textOf, useFilters } from "@/lists/filters";
import { ListPanel } from "@/lists/ListPanel";
import { TextChip } from "@/lists/TextChip";
import { workflowNames } from "@/runs/queries";
import { AlertRow } from "./AlertRow";
import { type Alert, alertFilterOf, alertsPage, KINDS, PAGE, RESULTS } from "./queries";
import { SilenceForm } from "./SilenceForm";

/** The alerts, newest first: what happened, and what became of each on each channel. */
export function HistoryTab() {
  const { t } = useTranslation("alerts");
  const project = useProject();
  const filters = useFilters();
  const { search, place } = filters;
  const filter = useMemo(() => alertFilterOf(search, project), [search, project]);
  const found = useQuery(alertsPage(filter, textOf(search, "cursor")));
  const [silencing, setSilencing] = useState<Alert | null>(null);
  const open = textOf(search, "row");
  return (
    <>
      <AlertFilters filters={filters} />
      <ListPanel title={t("tab.history")} words="alerts" of={found} filters={filters} size={PAGE} number={null}>
        {(items) => (
          <ul className="alert-list">
            {items.map((each) => (
              <AlertRow
                key={each.id}
                alert={each}
                isOpen={each.id === open}
                onOpen={(isOpen) => place({ row: isOpen ? each.id : undefined })}
                onSilence={() => setSilencing(each)}
              />
            ))}
          </ul>
        )}
      </ListPanel>
      {silencing !== null && <SilenceForm like={silencing} onClose={() => setSilencing(null)} />}
    </>
  );
}

/** The filters of alerts. */
function AlertFilters({ filters }: { filters: Filters }) {
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

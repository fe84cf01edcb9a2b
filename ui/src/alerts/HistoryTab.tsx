import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { textOf, useFilters } from "@/lists/filters";
import { ListPanel } from "@/lists/ListPanel";
import { AlertFilters } from "./AlertFilters";
import { AlertRow } from "./AlertRow";
import { type Alert, alertFilterOf, alertsPage, PAGE } from "./queries";
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

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { filterWords, textOf, useFilters } from "@/lists/filters";
import { Pager } from "@/lists/Pager";
import { Answer, Empty } from "@/parts/Answer";
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
  const items = found.data?.items ?? [];
  const open = textOf(search, "row");
  return (
    <>
      <AlertFilters filters={filters} />
      <section className="panel" aria-label={t("tab.history")} aria-busy={found.isPlaceholderData}>
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
        </Answer>
        {(items.length > 0 || found.data?.has_more) && (
          <footer>
            <div className="end">
              <Pager
                filters={filters}
                next={found.data?.has_more ? found.data.next_cursor : null}
                size={PAGE}
                shown={items.length}
                number={null}
              />
            </div>
          </footer>
        )}
      </section>
      {silencing !== null && <SilenceForm like={silencing} onClose={() => setSilencing(null)} />}
    </>
  );
}

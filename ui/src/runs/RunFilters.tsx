import { Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { slots, workers } from "@/cluster/queries";
import { ChoiceChip } from "@/lists/ChoiceChip";
import { FilterBar } from "@/lists/FilterBar";
import { type Filters, oneOf, textOf, textsOf } from "@/lists/filters";
import { TextChip } from "@/lists/TextChip";
import { workflowNames } from "./queries";
import { STATES, TRIGGERS } from "./runFilter";

/** The filters of runs. */
export function RunFilters({ filters }: { filters: Filters }) {
  const { t } = useTranslation("runs");
  const { search, change } = filters;
  const workflows = useQuery(workflowNames(useProject()));
  const masters = useQuery(slots);
  const found = useQuery(workers);
  const text = (word: "workflow" | "master" | "worker", known: { name: string }[] = []) => (
    <TextChip
      name={t(word)}
      value={textOf(search, word)}
      known={known.map((each) => each.name)}
      onChange={(value) => change({ [word]: value })}
    />
  );
  return (
    <FilterBar filters={filters} hint={t("searchHint")} states={STATES}>
      {text("workflow", workflows.data?.items)}
      <ChoiceChip
        name={t("trigger")}
        all={TRIGGERS}
        chosen={oneOf(search, "trigger", TRIGGERS)}
        label={(trigger) => t(`trigger.${trigger}`)}
        text={(trigger) => t(`trigger.${trigger}`)}
        onChange={(trigger) => change({ trigger })}
      />
      {text("master", masters.data?.masters)}
      {text("worker", found.data?.items)}
      {textsOf(search, "parameter").map((each) => (
        <TextChip
          key={each}
          name={t("parameter")}
          value={each}
          onChange={(to) => change({ parameter: swapped(textsOf(search, "parameter"), each, to) })}
        />
      ))}
      <TextChip
        key={textsOf(search, "parameter").length}
        name={t("addParameter")}
        value={undefined}
        placeholder="day=2026-11-20"
        onChange={(to) => change({ parameter: [...textsOf(search, "parameter"), ...(to ? [to] : [])] })}
      />
      <Switch
        size="xs"
        label={t("children")}
        checked={textOf(search, "children") === "true"}
        onChange={(event) => change({ children: event.currentTarget.checked || undefined })}
      />
    </FilterBar>
  );
}

function swapped(all: string[], old: string, to: string | undefined): string[] {
  return all.flatMap((each) => (each === old ? (to === undefined ? [] : [to]) : [each]));
}

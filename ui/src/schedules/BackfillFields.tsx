import { Checkbox, NumberInput, SegmentedControl, Textarea, TextInput } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useProject } from "@/app/ProjectSwitch";
import { faultAt, faultBeside } from "@/forms/faults";
import { type Pair, Pairs } from "@/forms/Pairs";
import { Refusal } from "@/forms/Refusal";
import { Submit } from "@/forms/Submit";
import { WorkflowSelect } from "@/forms/WorkflowSelect";
import { useWhyNot } from "@/login/rights";
import { sends } from "@/parts/sends";
import type { Asked, Wanted } from "./backfill";

const SHOWN = ["from", "to", "dates", "parallelism", "params"];

interface Props {
  wanted: Wanted;
  onChange: (to: Wanted) => void;
  params: Pair[];
  onParams: (params: Pair[]) => void;
  /** The dry run of what is wanted. */
  tried: UseQueryResult<Asked>;
  start: { run: () => void; isPending: boolean; error: Error | null };
}

/** Which dates, how many at once, in which order. */
export function BackfillFields({ wanted, onChange, params, onParams, tried, start }: Props) {
  const { t } = useTranslation("schedules");
  const project = useProject();
  const whyNot = useWhyNot("OPERATOR", project);
  const fault = (field: string) => faultAt(start.error ?? tried.error, field);
  const runs = tried.data === undefined ? 0 : tried.data.dates * tried.data.workflows.length;
  return (
    <form className="form pad" onSubmit={sends(() => start.run())}>
      <WorkflowSelect
        label={t("workflow")}
        project={project}
        value={wanted.code ?? null}
        onChange={(code) => onChange({ code: code ?? undefined })}
      />
      <DatesFields wanted={wanted} onChange={onChange} fault={fault} />
      <NumberInput
        label={t("parallelism")}
        description={t("parallelismHelp")}
        min={0}
        max={10_000}
        value={wanted.parallelism ?? 1}
        error={fault("parallelism")}
        onChange={(value) => onChange({ parallelism: value === "" ? undefined : Number(value) })}
      />
      <SegmentedControl
        size="xs"
        aria-label={t("order")}
        data={[
          { value: "ASC", label: t("oldestFirst") },
          { value: "DESC", label: t("newestFirst") },
        ]}
        value={wanted.order ?? "ASC"}
        onChange={(order) => onChange({ order: order === "DESC" ? "DESC" : undefined })}
      />
      <Checkbox
        label={t("skipDone")}
        description={t("skipDoneHelp")}
        checked={wanted.skip === true}
        onChange={(event) => onChange({ skip: event.currentTarget.checked || undefined })}
      />
      <Checkbox
        label={t("withDependents")}
        description={t("withDependentsHelp")}
        checked={wanted.dependents === true}
        onChange={(event) => onChange({ dependents: event.currentTarget.checked || undefined })}
      />
      <Pairs label={t("params")} pairs={params} onChange={onParams} error={fault("params")} />
      <Refusal error={faultBeside(start.error, ...SHOWN)} />
      <div className="form-end">
        <Submit
          isPending={start.isPending}
          why={whyNot ?? (runs === 0 ? t("nothingToFill") : null)}
          word={runs === 0 ? t("startBackfill") : t("startBackfillOf", { count: runs })}
        />
      </div>
    </form>
  );
}

interface DatesProps {
  wanted: Wanted;
  onChange: (to: Wanted) => void;
  fault: (field: string) => string | undefined;
}

/** All dates from one to another, or single ones. */
function DatesFields({ wanted, onChange, fault }: DatesProps) {
  const { t } = useTranslation("schedules");
  const isList = wanted.dates !== undefined;
  return (
    <>
      <SegmentedControl
        size="xs"
        aria-label={t("whichDates")}
        data={[
          { value: "range", label: t("range") },
          { value: "list", label: t("singleDates") },
        ]}
        value={isList ? "list" : "range"}
        onChange={(way) =>
          onChange(way === "list" ? { dates: " ", from: undefined, to: undefined } : { dates: undefined })
        }
      />
      {isList ? (
        <Textarea
          label={t("singleDates")}
          description={t("singleDatesHelp")}
          autosize
          minRows={2}
          value={wanted.dates?.trimStart()}
          error={fault("dates")}
          onChange={(event) => onChange({ dates: event.currentTarget.value || " " })}
        />
      ) : (
        <div className="fields">
          <TextInput
            type="date"
            label={t("from")}
            value={wanted.from ?? ""}
            error={fault("from")}
            onChange={(event) => onChange({ from: event.currentTarget.value || undefined })}
          />
          <TextInput
            type="date"
            label={t("to")}
            value={wanted.to ?? ""}
            error={fault("to")}
            onChange={(event) => onChange({ to: event.currentTarget.value || undefined })}
          />
        </div>
      )}
    </>
  );
}

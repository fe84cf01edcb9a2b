import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { workflowsOf } from "@/editor/queries";

interface Props {
  label: string;
  project: string | null;
  /** Its code. */
  value: string | null;
  onChange: (code: string | null) => void;
  error?: string | undefined;
}

/** Chooses a workflow; of several projects each says its own. */
export function WorkflowSelect({ label, project, value, onChange, error }: Props) {
  const { t } = useTranslation("forms");
  const found = useQuery(workflowsOf(project));
  const items = found.data?.items ?? [];
  const isOfSeveral = new Set(items.map((each) => each.project)).size > 1;
  return (
    <Select
      label={label}
      placeholder={t("chooseWorkflow")}
      data={items.map((each) => ({
        value: each.code,
        label: isOfSeveral ? `${each.project}/${each.name}` : each.name,
      }))}
      value={value}
      onChange={onChange}
      searchable
      required
      error={error ?? found.error?.message}
      nothingFoundMessage={t("noWorkflow")}
    />
  );
}

import { Button, Menu } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { say, sayFailure } from "@/parts/notices";
import { count } from "@/parts/time";
import type { Format } from "./exportRuns";
import type { RunFilter } from "./runFilter";

const FORMATS: Format[] = ["csv", "json"];

/** Saves what the filter matches as a file. */
export function ExportMenu({ filter }: { filter: RunFilter }) {
  const { t } = useTranslation("runs");
  const save = useMutation({
    mutationFn: async (format: Format) => (await import("./exportRuns")).exportRuns(filter, format),
    onSuccess: ({ runs, isCut }) => say(t(isCut ? "exportedNewest" : "exported", { count: runs, number: count(runs) })),
    onError: (error) => sayFailure(error),
  });
  return (
    <Menu position="bottom-end" shadow="md">
      <Menu.Target>
        <Button
          size="xs"
          variant="default"
          className="wide-only"
          leftSection={<IconDownload size={14} stroke={1.5} />}
          loading={save.isPending}
        >
          {t("export")}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t("exportSays")}</Menu.Label>
        {FORMATS.map((format) => (
          <Menu.Item key={format} onClick={() => save.mutate(format)}>
            {t(`export.${format}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

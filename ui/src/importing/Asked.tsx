import { Checkbox, FileInput, SegmentedControl, Select } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { type Options, SOURCES, type Source, sourceOf } from "./inputs";

interface Props {
  files: File[];
  options: Options;
  /** Those of which the caller may change the workflows. */
  projects: string[];
  project: string | null;
  onFiles: (files: File[]) => void;
  onOptions: (options: Options) => void;
  onProject: (project: string | null) => void;
}

/** The files of an import, and how they are read. */
export function Asked({ files, options, projects, project, onFiles, onOptions, onProject }: Props) {
  const { t } = useTranslation("importing");
  const { source } = options;
  const choice = (name: "online" | "lenient" | "system") => (
    <Checkbox
      label={t(name)}
      checked={options[name]}
      onChange={(event) => onOptions({ ...options, [name]: event.currentTarget.checked })}
    />
  );
  return (
    <>
      <FileInput
        label={t("files")}
        placeholder={t("choose")}
        multiple
        value={files}
        onChange={(given) => {
          onFiles(given);
          onOptions({ ...options, source: sourceOf(given.map((each) => each.name)) ?? source });
        }}
      />
      <SegmentedControl
        aria-label={t("source")}
        value={source}
        onChange={(value) => onOptions({ ...options, source: value as Source })}
        data={SOURCES.map((value) => ({ value, label: t(`source.${value}`) }))}
      />
      <p className="mute">{t(`help.${source}`)}</p>
      <Select
        label={t("project")}
        description={t("projectHelp")}
        data={projects}
        value={project}
        allowDeselect={false}
        onChange={onProject}
        searchable
      />
      {choice("online")}
      {source === "dolphinscheduler" && choice("lenient")}
      {source === "crontab" && choice("system")}
    </>
  );
}

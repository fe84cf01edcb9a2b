import { Loader } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { dataSources } from "@/editor/queries";
import { RowAct } from "@/parts/Act";
import { sentenceOf } from "@/parts/sentence";
import { DataSourceForm } from "./DataSourceForm";
import { NamedList } from "./NamedList";

/** Databases that SQL tasks use by a name. The address is shown without its password. */
export function DataSources() {
  const { t } = useTranslation("settings");
  const found = useQuery(dataSources);
  return (
    <NamedList
      title={t("section.data-sources")}
      of={found}
      empty={t("noDataSources")}
      emptyHelp={t("noDataSourcesHelp")}
      told={{ title: t("url"), cell: (source) => source.url }}
      acts={(source, whyNot) => <TestButton name={source.name} whyNot={whyNot} />}
      verb={t("newDataSource")}
      form={DataSourceForm}
      remove={(name) => api.DELETE("/api/v1/data-sources/{name}", { params: { path: { name } } })}
      touches={["data-sources", "secrets"]}
    />
  );
}

function TestButton({ name, whyNot }: { name: string; whyNot: string | null }) {
  const { t } = useTranslation("settings");
  const test = useMutation({
    mutationFn: () => api.POST("/api/v1/data-sources/{name}:test", { params: { path: { name } } }),
  });
  return (
    <>
      <span className="checked" aria-live="polite">
        {test.isPending && <Loader size={12} />}
        <Checked answer={test.data} error={test.error} />
      </span>
      <RowAct why={whyNot} onClick={() => test.mutate()} word={t("test")} />
    </>
  );
}

/** What a connection test found. */
export function Checked({ answer, error }: { answer: Schemas["DataSourceChecked"] | undefined; error: Error | null }) {
  const { t } = useTranslation("settings");
  if (error !== null)
    return (
      <span className="checked" title={sentenceOf(error)}>
        <i className="st" data-s="FAILURE" aria-hidden /> {sentenceOf(error)}
      </span>
    );
  if (answer === undefined) return null;
  return (
    <span className="checked" title={answer.reason ?? undefined}>
      <i className="st" data-s={answer.answers ? "SUCCESS" : "FAILURE"} aria-hidden />{" "}
      {answer.answers ? t("answers") : (answer.reason ?? t(answer.is_reached ? "reachedOnly" : "notReached"))}
    </span>
  );
}

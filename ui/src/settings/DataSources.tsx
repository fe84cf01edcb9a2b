import { Loader } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, bodyOf, type Schemas } from "@/api/client";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { sentenceOf } from "@/parts/sentence";
import { DataSourceForm } from "./DataSourceForm";
import { NamedList } from "./NamedList";

/** Databases that SQL tasks use by a name. The address is shown without its password. */
export function DataSources() {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const done = useDone("data-sources", "secrets");
  const [editing, setEditing] = useState<string | null>(null);
  const found = useQuery({
    queryKey: ["data-sources"],
    queryFn: () => bodyOf(api.GET("/api/v1/data-sources")),
  });
  const remove = useMutation({
    mutationFn: (name: string) => api.DELETE("/api/v1/data-sources/{name}", { params: { path: { name } } }),
  });
  return (
    <>
      <NamedList
        title={t("section.data-sources")}
        of={found}
        whyNot={whyNot}
        empty={t("noDataSources")}
        emptyHelp={t("noDataSourcesHelp")}
        told={{ title: t("url"), cell: (source) => source.url }}
        acts={(source) => <TestButton name={source.name} whyNot={whyNot} />}
        add={{ verb: t("newDataSource"), onClick: () => setEditing("") }}
        onChange={(source) => setEditing(source.name)}
        removal={{
          isPending: remove.isPending,
          error: remove.error,
          help: t("deleteUsed"),
          run: (name, gone) =>
            remove.mutate(name, {
              onSuccess: () => {
                gone();
                void done(t("deletedNamed", { name }));
              },
            }),
        }}
      />
      {editing !== null && (
        <DataSourceForm
          name={editing}
          onClose={() => setEditing(null)}
          onSaved={(name) => {
            setEditing(null);
            void done(t("savedNamed", { name }));
          }}
        />
      )}
    </>
  );
}

function TestButton({ name, whyNot }: { name: string; whyNot: string | null }) {
  const { t } = useTranslation("settings");
  const test = useMutation({
    mutationFn: () => bodyOf(api.POST("/api/v1/data-sources/{name}:test", { params: { path: { name } } })),
  });
  return (
    <>
      <span className="checked" aria-live="polite">
        {test.isPending && <Loader size={12} />}
        <Checked answer={test.data} error={test.error} />
      </span>
      <Act size="compact-sm" variant="default" why={whyNot} onClick={() => test.mutate()}>
        {t("test")}
      </Act>
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

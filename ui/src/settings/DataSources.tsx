import { TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { dataSources } from "@/editor/queries";
import { Act } from "@/parts/Act";
import { sentenceOf } from "@/parts/sentence";
import { NamedList } from "./NamedList";

/** Databases that SQL tasks use by a name. The address is shown without its password. */
export function DataSources() {
  const { t } = useTranslation("settings");
  const found = useQuery(dataSources);
  return (
    <NamedList
      section="data-sources"
      of={found}
      field="url"
      told={(source) => [t("url"), <code key="url">{source.url}</code>]}
      input={(given) => (
        <TextInput
          label={t("urlField")}
          description={t("urlHelp")}
          placeholder="postgresql://user:password@host:5432/database"
          autoComplete="off"
          {...given}
        />
      )}
      whyNone={t("urlFirst")}
      also={(name, url, whyNot) => <TestButton name={name} url={url} whyNot={whyNot} />}
      save={(name, url) => api.PUT("/api/v1/data-sources/{name}", { params: { path: { name } }, body: { url } })}
      remove={(name) => api.DELETE("/api/v1/data-sources/{name}", { params: { path: { name } } })}
      touches={["data-sources", "secrets"]}
    />
  );
}

/** Tests the address that is typed, or else the saved one. */
function TestButton({ name, url, whyNot }: { name: string; url: string; whyNot: string | null }) {
  const { t } = useTranslation("settings");
  const test = useMutation({
    mutationFn: () =>
      url === ""
        ? api.POST("/api/v1/data-sources/{name}:test", { params: { path: { name } } })
        : api.POST("/api/v1/data-sources:test", { body: { url } }),
  });
  return (
    <>
      <Act
        variant="default"
        loading={test.isPending}
        why={whyNot ?? (url === "" && name === "" ? t("urlFirst") : null)}
        onClick={() => test.mutate()}
        word={t("test")}
      />
      <span className="checked" aria-live="polite">
        {test.error && <Said state="FAILURE" text={sentenceOf(test.error)} />}
        {test.data && <Checked {...test.data} />}
      </span>
    </>
  );
}

/** What a connection test found. */
function Checked({ answers, reason, is_reached }: Schemas["DataSourceChecked"]) {
  const { t } = useTranslation("settings");
  if (answers) return <Said state="SUCCESS" text={t("answers")} />;
  return <Said state="FAILURE" text={reason ?? t(is_reached ? "reachedOnly" : "notReached")} />;
}

function Said({ state, text }: { state: string; text: string }) {
  return (
    <>
      <i className="st" data-s={state} aria-hidden /> {text}
    </>
  );
}

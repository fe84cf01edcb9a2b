import { TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { asObject, casesOf, type Graph, isObject, type Task } from "./model/read";

const TYPED_MS = 300;

/** Where a SWITCH goes with sample values, while its conditions are written: the server says it. */
export function SwitchTry({ task, graph }: { task: Task; graph: Graph }) {
  const { t } = useTranslation("editor");
  const [typed, setTyped] = useState<Record<string, string>>({});
  const values = { ...standards(graph), ...typed };
  const body = { project: graph.project, params: task.params, values };
  const [asked] = useDebouncedValue(JSON.stringify(body), TYPED_MS);
  const found = useQuery({
    queryKey: ["choose", asked],
    queryFn: () => api.POST("/api/v1/task-definitions:choose", { body: JSON.parse(asked) }),
    placeholderData: keepPreviousData,
    enabled: casesOf(task).some(({ when }) => when !== ""),
    retry: false,
  });
  if (found.data === undefined) return null;
  const { names, case: chosen, fault } = found.data;
  return (
    <fieldset className="form framed">
      <legend>{t("sample")}</legend>
      {names.map((name) => (
        <TextInput
          key={name}
          label={name}
          value={values[name] ?? ""}
          onChange={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })}
        />
      ))}
      <p className="line" aria-live="polite">
        <i className="st" data-s={fault ? "LATE" : "SUCCESS"} aria-hidden />
        <span>{fault ?? (chosen ? t("goesCase", { number: chosen }) : t("goesElse"))}</span>
        {fault == null && <b>→ {found.data.then?.join(", ") || t("goesNowhere")}</b>}
      </p>
    </fieldset>
  );
}

/** What the parameters of a workflow are without a run that gives others. */
function standards(graph: Graph): Record<string, string> {
  const given = Object.entries(asObject(graph.fields.params)).map(
    ([name, value]) => [name, isObject(value) ? (value.default ?? value.value) : value] as const,
  );
  return Object.fromEntries(given.flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]])));
}

import { Button, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { valuesOf } from "@/editor/model/values";
import type { Head } from "@/editor/queries";
import { faultAt, faultBeside } from "@/forms/faults";
import { Failure } from "@/parts/Answer";
import { Dialog } from "@/parts/Dialog";
import { say } from "@/parts/notices";
import { ParameterField } from "./ParameterField";
import { parametersOf, valuesGiven } from "./parameters";

const WAIT_S = 5;

interface Props {
  head: Head;
  onClose: () => void;
}

/** Start a run, with other values of its parameters if wanted; then show it. */
export function RunDialog({ head, onClose }: Props) {
  const { t } = useTranslation("workflow");
  const navigate = useNavigate();
  const path = { code: head.code };
  const content = useQuery({
    queryKey: ["workflow", head.code, "content"],
    queryFn: () => api.GET("/api/v1/workflow-definitions/{code}", { params: { path } }),
  });
  const [typed, setTyped] = useState("");
  const given = valuesOf(typed);
  const parameters = content.data === undefined ? [] : parametersOf(content.data.spec);
  const [values, setValues] = useState<Record<string, string>>({});
  const change = (name: string, value: string | undefined) =>
    setValues(({ [name]: _, ...others }) => (value === undefined ? others : { ...others, [name]: value }));
  const start = useMutation({
    mutationFn: (values: Record<string, string>) =>
      api.POST("/api/v1/workflow-definitions/{code}/runs", {
        params: { path, query: { wait: WAIT_S } },
        body: { params: { ...valuesGiven(parameters, values), ...given }, dry_run: false, tasks: [] },
      }),
    onSuccess: (asked) => {
      onClose();
      if (asked.run_id) void navigate({ to: "/runs/$id", params: { id: asked.run_id } });
      else say(t("asked", { command: asked.command_id, why: asked.reason ?? "" }));
    },
  });
  const beside = faultBeside(start.error, ...parameters.map((each) => pointerOf(each.name)));
  return (
    <Dialog onClose={onClose} title={t("runTitle", { name: head.name, version: head.version })}>
      <div className="dialog">
        {parameters.map((each) => (
          <ParameterField
            key={each.name}
            parameter={each}
            typed={values[each.name]}
            // What was typed since is not what was refused.
            error={
              start.variables?.[each.name] === values[each.name]
                ? faultAt(start.error, pointerOf(each.name))
                : undefined
            }
            onChange={(value) => change(each.name, value)}
          />
        ))}
        <Textarea
          label={t("runParams")}
          description={parameters.length > 0 ? t("runOthers") : t("runNoParams")}
          placeholder="day: 2026-01-31"
          error={given === null ? t("paramsFault") : undefined}
          value={typed}
          autosize
          minRows={parameters.length > 0 ? 1 : 3}
          classNames={{ input: "mono" }}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        {beside !== null && <Failure error={beside} />}
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            {t("cancel")}
          </Button>
          <Button data-autofocus loading={start.isPending} onClick={() => given !== null && start.mutate(values)}>
            {t("run")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** Where the API says what is wrong with a parameter. */
function pointerOf(name: string): string {
  return `params/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

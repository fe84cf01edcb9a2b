import { Button, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { stringify } from "yaml";
import { api } from "@/api/client";
import { valuesOf } from "@/editor/model/values";
import type { Head } from "@/editor/queries";
import { Failure } from "@/parts/Answer";
import { Dialog } from "@/parts/Dialog";
import { say } from "@/parts/notices";

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
  const standard = content.data?.spec.params;
  const start = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/workflow-definitions/{code}/runs", {
        params: { path, query: { wait: WAIT_S } },
        body: { params: given ?? {}, dry_run: false, tasks: [] },
      }),
    onSuccess: (asked) => {
      onClose();
      if (asked.run_id) void navigate({ to: "/runs/$id", params: { id: asked.run_id } });
      else say(t("asked", { command: asked.command_id, why: asked.reason ?? "" }));
    },
  });
  return (
    <Dialog onClose={onClose} title={t("runTitle", { name: head.name, version: head.version })}>
      <div className="dialog">
        <Textarea
          label={t("runParams")}
          description={
            standard !== undefined && Object.keys(standard).length > 0
              ? t("runStandard", { params: stringify(standard, { collectionStyle: "flow" }).trim() })
              : t("runNoParams")
          }
          placeholder="day: 2026-01-31"
          error={given === null ? t("paramsFault") : undefined}
          value={typed}
          autosize
          minRows={3}
          classNames={{ input: "mono" }}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        {start.error !== null && <Failure error={start.error} />}
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            {t("cancel")}
          </Button>
          <Button data-autofocus loading={start.isPending} onClick={() => given !== null && start.mutate()}>
            {t("run")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

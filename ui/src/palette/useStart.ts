import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { say, sayFailure } from "@/parts/notices";

const WAIT_S = 5;

/** Starts a workflow with its own parameters, says so, and opens the run when it began in time. */
export function useStart() {
  const { t } = useTranslation("palette");
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (workflow: { code: string; name: string }) =>
      api.POST("/api/v1/workflow-definitions/{code}/runs", {
        params: { path: { code: workflow.code }, query: { wait: WAIT_S } },
        body: { dry_run: false, tasks: [] },
      }),
    onSuccess: (asked, { name }) => {
      const run = asked.run_id ?? null;
      say(run === null ? t("asked", { name, command: asked.command_id }) : t("begun", { name, run }), run);
      if (run !== null) void navigate({ to: "/runs/$id", params: { id: run }, search: {} });
    },
    onError: sayFailure,
  });
}

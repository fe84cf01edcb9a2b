import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { say, sayFailure } from "@/parts/notices";

const WAIT_S = 5;

interface Asked {
  code: string;
  name: string;
  /** What is not as the workflow says. */
  body?: Partial<Schemas["StartRun"]>;
}

/** Starts a workflow, says so, and opens the run when it began in time. */
export function useStart(onError: (error: Error) => void = sayFailure, onAsked?: () => void) {
  const { t } = useTranslation("start");
  const navigate = useNavigate();
  return useMutation({
    mutationFn: ({ code, body }: Asked) =>
      api.POST("/api/v1/workflow-definitions/{code}/runs", {
        params: { path: { code }, query: { wait: WAIT_S } },
        body: { dry_run: false, tasks: [], ...body },
      }),
    onSuccess: ({ run_id: run = null, command_id: command, reason }, { name }) => {
      onAsked?.();
      say(run === null ? t("asked", { name, command, why: reason ?? "" }) : t("begun", { name, run }), run);
      if (run !== null) void navigate({ to: "/runs/$id", params: { id: run }, search: {} });
    },
    onError,
  });
}

import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { say, sayFailure } from "@/parts/notices";
import { specOf } from "@/run/queries";
import { type Asked, askToRun } from "./asking";
import { parametersOf } from "./parameters";

const WAIT_S = 5;

interface Start extends Pick<Asked, "code" | "name" | "stays"> {
  /** What is not as the workflow says. */
  body?: Partial<Schemas["StartRun"]>;
}

/** Starts a workflow, says so, and opens the run when it began in time. */
export function useStart(onError: (error: Error) => void = sayFailure, onAsked?: () => void) {
  const { t } = useTranslation("start");
  const navigate = useNavigate();
  return useMutation({
    mutationFn: ({ code, body }: Start) =>
      api.POST("/api/v1/workflow-definitions/{code}/runs", {
        params: { path: { code }, query: { wait: WAIT_S } },
        body: { dry_run: false, tasks: [], ...body },
      }),
    onSuccess: ({ run_id: run = null, command_id: command, reason }, { name, stays }) => {
      onAsked?.();
      say(run === null ? t("asked", { name, command, why: reason ?? "" }) : t("begun", { name, run }), run);
      if (run !== null && !stays) void navigate({ to: "/runs/$id", params: { id: run }, search: {} });
    },
    onError,
  });
}

/** Starts a workflow at once, or asks with what it is started where it has parameters. */
export function useStartOrAsk() {
  const start = useStart();
  return async (workflow: Asked) => {
    const [asking] = await withParameters([workflow]).catch(() => [workflow]);
    if (asking === undefined) start.mutate(workflow);
    else askToRun(asking);
  };
}

/** Those of these workflows that have parameters. */
export async function withParameters<T extends Pick<Asked, "code">>(workflows: T[]): Promise<T[]> {
  const found = await Promise.all(workflows.map(({ code }) => queries.fetchQuery(specOf(code, undefined))));
  const spec = new Map(found.map((each) => [each.code, each.spec]));
  return workflows.filter(({ code }) => {
    const of = spec.get(code);
    return of !== undefined && parametersOf(of).length > 0;
  });
}

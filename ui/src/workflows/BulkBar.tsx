import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, match } from "@/api/client";
import { changedWorkflow, exported } from "@/editor/queries";
import { may } from "@/login/rights";
import { me } from "@/login/session";
import { Act, RowAct } from "@/parts/Act";
import { say, sayFailure } from "@/parts/notices";
import { saveFile } from "@/parts/saveFile";
import { askToRun } from "@/start/asking";
import { withParameters } from "@/start/useStart";
import { asOneFile } from "./asOneFile";
import type { Workflow } from "./queries";

type What = "publish" | "takeBack" | "run" | "export";

/** What can be done with several workflows at once; says how many of them it was done for, and why not the others. */
export function BulkBar({ selected, onForget }: { selected: Workflow[]; onForget: () => void }) {
  const { t } = useTranslation("workflows");
  const who = useQuery(me);
  const act = useMutation({
    mutationFn: async (what: What) => {
      if (what === "export") return { done: await exportAll(selected), failed: [] as string[] };
      const asking = what === "run" ? await withParameters(selected) : [];
      const others = selected.filter((each) => !asking.includes(each));
      askToRun(...asking.map(({ code, name }) => ({ code, name, stays: true })));
      const results = await Promise.allSettled(others.map((workflow) => doOne(what, workflow)));
      const failed = results.flatMap((each, at) =>
        each.status === "rejected"
          ? `${others[at]?.name}: ${each.reason instanceof Error ? each.reason.message : String(each.reason)}`
          : [],
      );
      return { done: others.length - failed.length, failed };
    },
    onSuccess: ({ done, failed }, what) => {
      changedWorkflow();
      if (done > 0) say(t(`done.${what}`, { count: done }));
      if (failed.length > 0) sayFailure(new Error(failed.join(" ")));
      else onForget();
    },
    onError: (error) => sayFailure(error),
  });
  const without = (role: "OPERATOR" | "EDITOR") => {
    const missing = [...new Set(selected.map((each) => each.project))].filter(
      (project) => who.data !== undefined && !may(who.data, role, project),
    );
    return missing.length === 0 ? null : t("needsRole", { role, projects: missing.join(", ") });
  };
  const button = (what: What, why: string | null) => (
    <RowAct
      why={why}
      loading={act.isPending && act.variables === what}
      onClick={() => act.mutate(what)}
      word={t(`bulk.${what}`)}
    />
  );
  const offline = selected.filter((each) => each.release_state === "OFFLINE");
  return (
    <div className="bulk" role="toolbar" aria-label={t("bulk")}>
      <b>{t("selected", { count: selected.length })}</b>
      {button("run", without("OPERATOR") ?? (offline.length > 0 ? t("isOffline", { names: namesOf(offline) }) : null))}
      {button("publish", without("EDITOR") ?? (offline.length === 0 ? t("allOnline") : null))}
      {button("takeBack", without("EDITOR") ?? (offline.length === selected.length ? t("allOffline") : null))}
      {button("export", null)}
      <Act size="compact-sm" variant="subtle" onClick={onForget} word={t("forget")} />
    </div>
  );
}

function namesOf(workflows: Workflow[]): string {
  return workflows.map((each) => each.name).join(", ");
}

async function doOne(
  what: "publish" | "takeBack" | "run",
  { code, version, release_state }: Workflow,
): Promise<unknown> {
  const path = { code };
  if (what === "run")
    return api.POST("/api/v1/workflow-definitions/{code}/runs", {
      params: { path },
      body: { params: {}, dry_run: false, tasks: [] },
    });
  const wanted = what === "publish" ? "ONLINE" : "OFFLINE";
  if (release_state === wanted) return undefined;
  return api.PUT("/api/v1/workflow-definitions/{code}/release-state", {
    params: { path, header: match(version) },
    body: { release_state: wanted },
  });
}

/** One file with all of them, as `shoal workflow apply` reads it. */
async function exportAll(workflows: Workflow[]): Promise<number> {
  const texts = await Promise.all(workflows.map((each) => exported(each.code)));
  const [only] = workflows;
  const yaml = asOneFile(texts.map((each) => each.yaml));
  saveFile(workflows.length === 1 && only ? `${only.name}.yaml` : "workflows.yaml", yaml);
  return workflows.length;
}

import { useDebouncedValue } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { useProject } from "@/app/ProjectSwitch";
import { type Pair, valuesOf } from "@/forms/Pairs";
import { Answer, Empty } from "@/parts/Answer";
import { WorkflowLink } from "@/parts/Links";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { BackfillFields } from "./BackfillFields";
import { BackfillPreview } from "./BackfillPreview";
import { bodyOf, type Wanted, wantedOf } from "./backfill";
import { recentBackfills } from "./queries";
import "@/forms/forms.css";
import "./schedules.css";

const TYPING_MS = 300;

/** Runs of a workflow for dates that have passed: what is wanted, every run that it means, and the start. */
export function BackfillPage() {
  const { t } = useTranslation("schedules");
  const wanted = wantedOf(useSearch({ strict: false }));
  const navigate = useNavigate();
  const [params, setParams] = useState<Pair[]>([]);
  const change = (to: Wanted) =>
    void navigate({
      to: "/schedules/backfill",
      search: wantedOf({ ...wanted, ...to }),
      replace: true,
    });
  // As text, since an equal object is another value.
  const [text] = useDebouncedValue(JSON.stringify(bodyOf(wanted, valuesOf(params), true)), TYPING_MS);
  const tried = JSON.parse(text) as Schemas["StartBackfill"] | null;
  const code = wanted.code ?? "";
  const dryRun = useQuery({
    queryKey: ["backfill", "dry", code, text],
    queryFn: () => ask(code, tried),
    enabled: tried !== null,
    retry: false,
    staleTime: 0,
  });
  const start = useMutation({
    mutationFn: () => ask(code, bodyOf(wanted, valuesOf(params), false)),
    onSuccess: (asked) => {
      if (asked.command_id == null) return;
      void navigate({ to: "/schedules/backfills/$id", params: { id: asked.command_id }, search: {} });
    },
  });
  return (
    <div className="page">
      <div className="page-head">
        <h1>
          <Link to="/schedules" search={{}}>
            {t("title")}
          </Link>{" "}
          / {t("backfill")}
        </h1>
      </div>
      <div className="backfill">
        <Panel title={t("wanted")}>
          <BackfillFields
            wanted={wanted}
            onChange={change}
            params={params}
            onParams={setParams}
            tried={dryRun}
            start={{ run: () => start.mutate(), isPending: start.isPending, error: start.error }}
          />
        </Panel>
        <Panel
          title={t("preview")}
          remark={dryRun.data && tried !== null ? t("runsAndSkipped", sizeOf(dryRun.data)) : undefined}
        >
          <BackfillPreview of={dryRun} isAsked={tried !== null} params={valuesOf(params)} />
        </Panel>
      </div>
      <RecentBackfills />
    </div>
  );
}

/** The backfills that anybody asked for last. */
function RecentBackfills() {
  const { t } = useTranslation("schedules");
  const recent = useQuery(recentBackfills(useProject()));
  return (
    <Panel title={t("recentBackfills")}>
      <Answer of={recent} isEmpty={({ items }) => items.length === 0} empty={<Empty title={t("noBackfills")} />}>
        {({ items }) => (
          <Table heads={[t("askedAt"), t("workflow"), t("dates"), t("askedBy")]}>
            {items.map((each) => (
              <tr key={each.command_id}>
                <td>
                  <Link to="/schedules/backfills/$id" params={{ id: each.command_id }} search={{}}>
                    <Moment at={each.at} />
                  </Link>
                </td>
                <td>
                  <WorkflowLink project={each.project} name={each.workflow} />
                </td>
                <td>{t("backfillSize", { count: each.dates, chains: each.chains })}</td>
                <td className="wide">{each.by}</td>
              </tr>
            ))}
          </Table>
        )}
      </Answer>
    </Panel>
  );
}

function sizeOf(asked: Schemas["BackfillAnswer"]) {
  return { count: asked.dates * asked.workflows.length, chains: asked.chains.length, skipped: asked.skipped };
}

function ask(code: string, body: Schemas["StartBackfill"] | null) {
  if (body === null) throw new Error("no dates");
  return api.POST("/api/v1/workflow-definitions/{code}/backfills", {
    params: { path: { code }, query: { wait: 0 } },
    body,
  });
}

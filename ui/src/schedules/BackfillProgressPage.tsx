import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { useTopics } from "@/live/eventSource";
import { Answer, Empty } from "@/parts/Answer";
import { BackfillState } from "./BackfillState";
import { type Asked, bodyOf, remembered, wantedOf } from "./backfill";
import "@/forms/forms.css";
import "./schedules.css";

/** How far a backfill is, with what can be done about it. */
export function BackfillProgressPage() {
  const { t } = useTranslation("schedules");
  const { id } = useParams({ strict: false });
  const wanted = wantedOf(useSearch({ strict: false }));
  useTopics("runs", "queue");
  const known = remembered().find((each) => each.command_id === id);
  // Another browser has only the address: a dry run of it says the dates, with those that were done before.
  const again = bodyOf({ ...wanted, skip: undefined }, {}, true);
  const dates = useQuery<Asked>({
    queryKey: ["backfill", "dates", id, again],
    queryFn: () =>
      api.POST("/api/v1/workflow-definitions/{code}/backfills", {
        params: { path: { code: wanted.code ?? "" }, query: { wait: 0 } },
        body: again ?? { dates: [], order: "ASC", skip_done: false, dependents: false, dry_run: true, params: {} },
      }),
    enabled: known === undefined && again !== null,
    ...(known !== undefined && { initialData: known }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <div className="page">
      <div className="page-head">
        <h1>
          <Link to="/schedules" search={{}}>
            {t("title")}
          </Link>{" "}
          /{" "}
          <Link to="/schedules/backfill" search={wanted}>
            {t("backfill")}
          </Link>{" "}
          / {id}
        </h1>
      </div>
      {known === undefined && again === null ? (
        <section className="panel">
          <Empty title={t("unknownBackfill")}>{t("unknownBackfillHelp")}</Empty>
        </section>
      ) : (
        <Answer of={dates}>
          {(asked) => <BackfillState id={id ?? ""} asked={asked} isExact={known !== undefined || !wanted.skip} />}
        </Answer>
      )}
    </div>
  );
}

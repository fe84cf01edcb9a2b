import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useHealth } from "@/app/Health";
import { useProject } from "@/app/ProjectSwitch";
import { claims, slots, workers } from "@/cluster/queries";
import { barsOf, totals } from "@/lists/bars";
import { Histogram } from "@/lists/Histogram";
import { count, duration } from "@/parts/time";
import { runHistogram } from "@/runs/queries";
import { runFilterOf } from "@/runs/runFilter";
import { queue } from "./queries";
import { useNeeds } from "./useNeeds";

const HOUR_BARS = 60;

/** Whether all is well, in a word and a few numbers, and the runs of the last hour. */
export function HealthLine({ isShort }: { isShort: boolean }) {
  const { t } = useTranslation("now");
  const app = useTranslation("app").t;
  const health = useHealth();
  const { needs } = useNeeds();
  const hour = useQuery(runHistogram(runFilterOf({ since: "1h" }, useProject()), HOUR_BARS));
  const sums = hour.data === undefined ? null : totals(barsOf(hour.data));
  return (
    <section className="panel health-line" data-short={isShort} aria-label={t("health")}>
      <div>
        <p className="health-word" data-known={health.isKnown}>
          <i className="st" data-s={health.state} aria-hidden />
          <b>{app(health.word)}</b>
          {!isShort && needs !== undefined && (
            <span className="soft">{needs.length === 0 ? t("nothingNeeds") : t("needs", { count: needs.length })}</span>
          )}
        </p>
        {health.because !== "" && <p className="soft">{health.because}</p>}
        <Numbers />
      </div>
      <div className="last-hour">
        <div className="line">
          <Link to="/runs" search={{ since: "1h" }}>
            {t("lastHour")}
          </Link>
          <span className="grow" />
          {hour.data !== undefined && (
            <span className="soft">{t("begun", { count: hour.data.total, number: count(hour.data.total) })}</span>
          )}
          {sums !== null && sums.failed > 0 && (
            <Link to="/runs" search={{ since: "1h", state: ["FAILURE"] }} className="state" data-s="FAILURE">
              {t("failedOf", { number: count(sums.failed) })}
            </Link>
          )}
        </div>
        {hour.data !== undefined ? <Histogram of={hour.data} /> : <div className="bars skel" />}
      </div>
    </section>
  );
}

/** Masters, workers, what waits and for how long. */
function Numbers() {
  const { t } = useTranslation("now");
  const masters = useQuery(slots);
  const found = useQuery(workers);
  const waiting = useQuery(queue);
  const taken = useQuery(claims);
  const places = found.data?.items.reduce((sum, each) => sum + (each.capacity ?? 0), 0) ?? 0;
  const busy = found.data?.items.reduce((sum, each) => sum + (each.running ?? 0), 0) ?? 0;
  const commands = waiting.data?.slots.reduce((sum, each) => sum + each.waiting, 0);
  const tasks = waiting.data?.worker_groups.reduce((sum, each) => sum + (each.waiting ?? 0), 0);
  const oldest = Math.max(
    0,
    ...(waiting.data?.slots ?? []).map((each) => each.oldest_s ?? 0),
    ...(waiting.data?.worker_groups ?? []).map((each) => each.oldest_s ?? 0),
  );
  const perS = taken.data?.items.reduce((sum, each) => sum + each.per_s, 0);
  return (
    <dl className="numbers" data-known={masters.isPending ? false : undefined}>
      <Fact to="/cluster" name={t("masters")} value={masters.data?.total} />
      <Fact
        to="/cluster"
        name={t("workers")}
        value={found.data?.items.length}
        more={found.data && t("places", { busy: count(busy), places: count(places) })}
      />
      <Fact
        to="/queue"
        name={t("queue")}
        value={commands === undefined || tasks === undefined ? undefined : count(commands + tasks)}
        more={
          commands && tasks
            ? t("queueOf", {
                commands: t("commandsOf", { count: commands, shown: count(commands) }),
                tasks: t("tasksOf", { count: tasks, shown: count(tasks) }),
              })
            : undefined
        }
      />
      <Fact to="/queue" name={t("oldest")} value={waiting.data && duration(oldest)} />
      <Fact to="/cluster" name={t("taken")} value={perS?.toFixed(1)} more={t("perS")} />
    </dl>
  );
}

function Fact({
  to,
  name,
  value,
  more,
}: {
  to: "/cluster" | "/queue";
  name: string;
  value: ReactNode;
  more?: ReactNode;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Link to={to} search={{}}>
          <b>{value ?? "–"}</b> {value !== undefined && more}
        </Link>
      </dd>
    </div>
  );
}

import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { isGone } from "@/api/queries";
import { useClusterSearch } from "@/cluster/search";
import { Confirm } from "@/forms/Confirm";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { SmallAct } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Ago } from "@/parts/Time";
import { count, duration } from "@/parts/time";
import { Line } from "./Line";
import { PoolForm } from "./PoolForm";
import { type PoolContent, poolOf } from "./queries";
import { Resources } from "./Resources";

/** One pool: what it is, who holds what until when, what is set aside, and the line of who waits. */
export function PoolPage({ name }: { name: string }) {
  const { t } = useTranslation("pools");
  const found = useQuery(poolOf(name));
  const shown = isGone(found.error) ? undefined : found.data;
  return (
    <>
      <p>
        <Link to="/cluster" search={{ tab: "pools" }}>
          ‹ {t("allPools")}
        </Link>
      </p>
      <Panel
        title={name}
        remark={shown && t("version", { version: shown.version })}
        end={<Acts of={found.data} isGone={shown === undefined} />}
      >
        <Answer of={found}>{(pool) => <Facts pool={pool} />}</Answer>
      </Panel>
      {shown && (
        <>
          <Resources pool={shown} />
          <Line pool={shown} />
        </>
      )}
    </>
  );
}

function Facts({ pool }: { pool: PoolContent }) {
  const { t } = useTranslation("pools");
  const parts = (["free", "taken", "set_aside", "checking", "removed"] as const).filter(
    (each) => each === "free" || pool[each] > 0,
  );
  return (
    <dl className="facts-list">
      {pool.description !== "" && (
        <>
          <dt>{t("description")}</dt>
          <dd>{pool.description}</dd>
        </>
      )}
      <dt>{t("kindHead")}</dt>
      <dd>{t(`kindSaid.${pool.kind}`, { count: pool.total, number: count(pool.total) })}</dd>
      <dt>{t("now")}</dt>
      <dd>
        {parts.map((each) => t(`number.${each}`, { number: count(pool[each]) })).join(" · ")}
        {" · "}
        {t("number.waiting", { number: count(pool.waiting) })}
      </dd>
      <dt>{t("check")}</dt>
      <dd>{pool.check ? checkSaid() : t("noCheck")}</dd>
      <dt>{t("changed")}</dt>
      <dd>
        <Ago at={pool.changed_at} /> {t("by", { by: pool.changed_by })}
      </dd>
    </dl>
  );

  function checkSaid() {
    const { kind, timeout_s, every_s } = pool.check as NonNullable<PoolContent["check"]>;
    const values = { every: duration(every_s), timeout: duration(timeout_s) };
    return t(every_s === 0 ? `checkEachUse.${kind}` : `checkEvery.${kind}`, values);
  }
}

/** What can be done with a pool. If it is gone nothing, but what is typed into an open form stays. */
function Acts({ of: pool, isGone }: { of: PoolContent | undefined; isGone: boolean }) {
  const { t } = useTranslation("pools");
  const whyNot = useWhyNot("ADMIN");
  const done = useDone("pools");
  const [, change] = useClusterSearch();
  const [open, setOpen] = useState<"form" | "delete" | null>(null);
  const remove = useMutation({
    mutationFn: (name: string) =>
      api.DELETE("/api/v1/resource-pools/{name}", {
        params: { path: { name }, query: { force: (pool?.waiting ?? 0) > 0 } },
      }),
    onSuccess: (_, name) => {
      change({ pool: undefined });
      void done(t("deleted", { name }));
    },
  });
  if (pool === undefined || (isGone && open === null)) return null;
  const whyHeld = pool.taken + pool.removed > 0 ? t("heldCannotGo") : null;
  return (
    <>
      <SmallAct why={whyNot} onClick={() => setOpen("form")} word={t("change")} />
      <SmallAct why={whyNot ?? whyHeld} onClick={() => setOpen("delete")} word={t("delete")} />
      {open === "form" && <PoolForm pool={pool} onClose={() => setOpen(null)} onSaved={() => setOpen(null)} />}
      {open === "delete" && (
        <Confirm
          title={t("deleteNamed", { name: pool.name })}
          verb={t("delete")}
          sending={{ ...remove, mutate: () => remove.mutate(pool.name) }}
          onClose={() => setOpen(null)}
        >
          <p>
            {pool.waiting > 0
              ? t("deleteWaiting", { count: pool.waiting, number: count(pool.waiting) })
              : t("deleteHelp")}
          </p>
        </Confirm>
      )}
    </>
  );
}

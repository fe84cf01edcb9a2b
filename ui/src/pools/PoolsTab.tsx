import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Bar } from "@/cluster/Bar";
import { useClusterSearch } from "@/cluster/search";
import { useTopics } from "@/live/eventSource";
import { useWhyNot } from "@/login/rights";
import { Answer, Empty } from "@/parts/Answer";
import { More } from "@/parts/More";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Ago } from "@/parts/Time";
import { count } from "@/parts/time";
import { PoolForm } from "./PoolForm";
import { PoolPage } from "./PoolPage";
import { type Pool, pools } from "./queries";
import "@/forms/forms.css";
import { Act } from "@/parts/Act";
import "./pools.css";

/** Scarce things that tasks share: how much of each pool is free, and how many wait. */
export function PoolsTab() {
  const [{ pool }] = useClusterSearch();
  useTopics("pools");
  return pool === undefined ? <PoolList /> : <PoolPage key={pool} name={pool} />;
}

function PoolList() {
  const { t } = useTranslation("pools");
  const found = useInfiniteQuery(pools);
  const whyNot = useWhyNot("ADMIN");
  const [, change] = useClusterSearch();
  const [isNew, setIsNew] = useState(false);
  return (
    <Panel
      title={t("pools")}
      remark={found.data && `${count(found.data.items.length)}${found.hasNextPage ? "+" : ""}`}
      end={<Act size="xs" why={whyNot} onClick={() => setIsNew(true)} word={t("newPool")} />}
    >
      <Answer of={found} empty={<Empty title={t("noPools")}>{t("noPoolsHelp")}</Empty>}>
        {({ items }) => <PoolTable pools={items} />}
      </Answer>
      <More of={found} word={t("more")} />
      {isNew && (
        <PoolForm
          pool={null}
          onClose={() => setIsNew(false)}
          onSaved={(name) => {
            setIsNew(false);
            change({ tab: "pools", pool: name });
          }}
        />
      )}
    </Panel>
  );
}

function PoolTable({ pools }: { pools: Pool[] }) {
  const { t } = useTranslation("pools");
  return (
    <Table
      hasFocus
      heads={[
        t("pool"),
        t("kindHead"),
        t("takenOf"),
        { num: t("free") },
        { num: t("setAside") },
        { num: t("waiting") },
        { num: t("changed") },
        t("description"),
      ]}
    >
      {pools.map((each) => (
        <tr key={each.name}>
          <td>
            <Link to="/cluster" search={{ tab: "pools", pool: each.name }}>
              {each.name}
            </Link>
          </td>
          <td>{t(`kind.${each.kind}`)}</td>
          <td>
            <Bar used={each.taken} most={each.total} />
          </td>
          <td className="num">{count(each.free)}</td>
          <td className={`num ${each.set_aside > 0 ? "bad" : ""}`}>{count(each.set_aside)}</td>
          <td className="num">{count(each.waiting)}</td>
          <td className="num">
            <Ago at={each.changed_at} />
          </td>
          <td className="wide" title={each.description}>
            {each.description}
          </td>
        </tr>
      ))}
    </Table>
  );
}

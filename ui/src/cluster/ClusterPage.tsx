import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import "./cluster.css";
import { Tabs } from "@/parts/Tabs";
import { PoolsTab } from "@/pools/PoolsTab";
import { DatabaseTab } from "./DatabaseTab";
import { DoctorTab } from "./DoctorTab";
import { DutiesTab } from "./DutiesTab";
import { FailoversTab } from "./FailoversTab";
import { MastersTab } from "./MastersTab";
import { RegistryTab } from "./RegistryTab";
import { TABS, type Tab, useClusterSearch } from "./search";
import { SlotsTab } from "./slots/SlotsTab";
import { WorkersTab } from "./WorkersTab";

const BODIES: Record<Tab, () => ReactNode> = {
  slots: SlotsTab,
  masters: MastersTab,
  workers: WorkersTab,
  registry: RegistryTab,
  database: DatabaseTab,
  failovers: FailoversTab,
  pools: PoolsTab,
  duties: DutiesTab,
  doctor: DoctorTab,
};

/** Who works: the slots as they move, the nodes, the servers that they rely on, and what is wrong with them. */
export function ClusterPage() {
  const { t } = useTranslation("cluster");
  const [{ tab = "slots" }] = useClusterSearch();
  const Body = BODIES[tab];
  return (
    <div className="page cluster">
      <div className="cluster-head">
        <h1>{t("title")}</h1>
        <Tabs to="/cluster" tabs={TABS} chosen={tab} label={t("title")} word={(each) => t(`tab.${each}`)} />
      </div>
      <Body />
    </div>
  );
}

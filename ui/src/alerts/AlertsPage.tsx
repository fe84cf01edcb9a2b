import { useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useTopics } from "@/live/eventSource";
import { Tabs } from "@/parts/Tabs";
import { ChannelsTab } from "./ChannelsTab";
import { HistoryTab } from "./HistoryTab";
import { RulesTab } from "./RulesTab";
import { SilencesTab } from "./SilencesTab";
import "@/forms/forms.css";
import "@/lists/lists.css";
import "./alerts.css";

const TABS = ["history", "rules", "channels", "silences"] as const;
type Tab = (typeof TABS)[number];

const BODIES: Record<Tab, () => ReactNode> = {
  history: HistoryTab,
  rules: RulesTab,
  channels: ChannelsTab,
  silences: SilencesTab,
};

/** What happened that a person should know, who was told of it, and by which rules. */
export function AlertsPage() {
  // All words of the page at once: a part that waits for its words would blank the page.
  const { t } = useTranslation(["alerts", "lists", "forms"]);
  useTopics("alerts");
  const { tab } = useSearch({ strict: false }) as { tab?: unknown };
  const chosen = TABS.find((each) => each === tab) ?? "history";
  const Body = BODIES[chosen];
  return (
    <div className="page alerts">
      <div className="alerts-head">
        <h1>{t("title")}</h1>
        <Tabs to="/alerts" tabs={TABS} chosen={chosen} label={t("title")} word={(each) => t(`tab.${each}`)} />
      </div>
      <Body />
    </div>
  );
}

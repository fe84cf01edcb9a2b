import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { ChannelForm } from "./ChannelForm";
import { ChannelRow } from "./ChannelRow";
import { GroupsPanel } from "./GroupsPanel";
import { type Channel, channels } from "./queries";

/** Where alerts are sent, and which alert group has which of these channels. */
export function ChannelsTab() {
  const { t } = useTranslation("alerts");
  const found = useQuery(channels);
  const whyNot = useWhyNot("ADMIN");
  const [editing, setEditing] = useState<Channel | "new" | null>(null);
  return (
    <>
      <Panel
        title={t("channels")}
        remark={found.data?.items.length}
        end={<Act size="xs" why={whyNot} onClick={() => setEditing("new")} word={t("newChannel")} />}
      >
        <Answer of={found} empty={<Empty title={t("noChannels")}>{t("noChannelsHelp")}</Empty>}>
          {(all) => (
            <Table
              hasFocus
              heads={[
                t("channel"),
                t("url"),
                t("inGroups"),
                t("state"),
                { num: t("lastSent") },
                { unseen: t("actions") },
              ]}
            >
              {all.items.map((each) => (
                <ChannelRow key={each.name} channel={each} onChange={() => setEditing(each)} />
              ))}
            </Table>
          )}
        </Answer>
      </Panel>
      <GroupsPanel />
      {editing !== null && (
        <ChannelForm channel={editing === "new" ? null : editing} onClose={() => setEditing(null)} />
      )}
    </>
  );
}

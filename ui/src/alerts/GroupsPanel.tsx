import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match } from "@/api/client";
import { ChangeOrDelete } from "@/forms/ChangeOrDelete";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Ago } from "@/parts/Time";
import { GroupForm } from "./GroupForm";
import { type Group, groups } from "./queries";

/** It gets what concerns the cluster, and what names no group. */
const DEFAULT = "default";

/** The alert groups, each with its channels. */
export function GroupsPanel() {
  const { t } = useTranslation("alerts");
  const found = useQuery(groups);
  const whyNot = useWhyNot("ADMIN");
  const [editing, setEditing] = useState<Group | { name: string } | null>(null);
  const lacksDefault = found.data?.items.every((each) => each.name !== DEFAULT || each.channels.length === 0);
  return (
    <Panel
      title={t("groups")}
      remark={found.data?.items.length}
      end={
        <Act
          size="xs"
          why={whyNot}
          onClick={() => setEditing({ name: found.data?.items.some((each) => each.name === DEFAULT) ? "" : DEFAULT })}
          word={t("newGroup")}
        />
      }
    >
      {lacksDefault && (
        <p className="group-note">
          <i className="st" data-s="LATE" aria-hidden /> {t("noDefault")}
        </p>
      )}
      <Answer of={found} empty={<Empty title={t("noGroups")}>{t("noGroupsHelp")}</Empty>}>
        {(all) => (
          <Table
            hasFocus
            heads={[t("group"), t("channels"), t("description"), { num: t("changed") }, { unseen: t("actions") }]}
          >
            {all.items.map((each) => (
              <GroupRow key={each.name} group={each} whyNot={whyNot} onChange={() => setEditing(each)} />
            ))}
          </Table>
        )}
      </Answer>
      {editing !== null && <GroupForm group={editing} onClose={() => setEditing(null)} />}
    </Panel>
  );
}

function GroupRow({ group, whyNot, onChange }: { group: Group; whyNot: string | null; onChange: () => void }) {
  const { t } = useTranslation("alerts");
  const remove = () =>
    api.DELETE("/api/v1/alert-groups/{name}", {
      params: { path: { name: group.name }, header: match(group.version) },
    });
  return (
    <tr>
      <td>{group.name}</td>
      <td className="wrap">
        {group.channels.length === 0 ? <span className="mute">{t("noChannelIn")}</span> : group.channels.join(", ")}
      </td>
      <td className="wide" title={group.description}>
        {group.description}
      </td>
      <td className="num" title={group.updated_by}>
        <Ago at={group.updated_at} />
      </td>
      <td>
        <div className="row-acts">
          <ChangeOrDelete name={group.name} whyNot={whyNot} onChange={onChange} remove={remove} touches={["alerts"]}>
            <p>{t("deleteGroupHelp")}</p>
          </ChangeOrDelete>
        </div>
      </td>
    </tr>
  );
}

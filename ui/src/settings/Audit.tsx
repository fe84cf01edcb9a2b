import { Button, Select, TextInput } from "@mantine/core";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { paged } from "@/api/reads";
import { Answer, Empty } from "@/parts/Answer";
import { More } from "@/parts/More";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { useAddress } from "@/parts/useAddress";
import { projectNames } from "./queries";

const FILTERS = ["actor", "action", "object_kind", "object_id", "since"] as const;
const OUTCOMES = ["DONE", "DENIED"] as const;
const PAGE = 50;

interface Search {
  project?: string;
  outcome?: string;
  row?: string;
  actor?: string;
  action?: string;
  object_kind?: string;
  object_id?: string;
  since?: string;
}

/** Who changed what, newest first, and who was denied what. A row opens to what was before and after. */
export function Audit() {
  const { t } = useTranslation("settings");
  const search = useSearch({ strict: false }) as Search;
  const { row, outcome, ...rest } = search;
  const texts: Record<string, string> = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, String(value)]),
  );
  const filter = { ...texts, outcome: OUTCOMES.find((each) => each === outcome) };
  const found = useInfiniteQuery({
    ...paged(["audit", filter], (at) =>
      api.GET("/api/v1/audit", { params: { query: { ...filter, limit: PAGE, ...at } } }),
    ),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const change = useAddress<Search>();
  return (
    <>
      <AuditFilters search={search} onChange={change} />
      <Panel title={t("section.audit")}>
        <Answer of={found} lines={10} empty={<Empty title={t("noAudit")}>{t("noAuditHelp")}</Empty>}>
          {({ items }) => (
            <Table
              heads={[
                { num: t("when") },
                t("who"),
                t("action"),
                t("object"),
                t("project"),
                t("outcome"),
                { unseen: t("details") },
              ]}
            >
              {items.map((each) => (
                <AuditRow
                  key={each.id}
                  entry={each}
                  isOpen={String(row) === each.id}
                  onOpen={(isOpen) => change({ row: isOpen ? each.id : undefined })}
                />
              ))}
            </Table>
          )}
        </Answer>
        <More of={found} word={t("older")} />
      </Panel>
    </>
  );
}

function AuditFilters({ search, onChange }: { search: Search; onChange: (to: Search) => void }) {
  const { t } = useTranslation("settings");
  const projects = useQuery(projectNames);
  return (
    <div className="fields audit-filters">
      <Select
        aria-label={t("project")}
        placeholder={t("project")}
        data={projects.data ?? []}
        value={search.project ?? null}
        clearable
        onChange={(project) => onChange({ project: project ?? undefined })}
      />
      <Select
        aria-label={t("outcome")}
        placeholder={t("outcome")}
        data={OUTCOMES.map((value) => ({ value, label: t(`outcome.${value}`) }))}
        value={search.outcome ?? null}
        clearable
        onChange={(value) => onChange({ outcome: value ?? undefined })}
      />
      {FILTERS.map((name) => (
        <TextInput
          key={name}
          aria-label={t(`filter.${name}`)}
          placeholder={t(`filter.${name}`)}
          defaultValue={search[name] ?? ""}
          onBlur={(event) => onChange({ [name]: event.currentTarget.value })}
          onKeyDown={(event) => event.key === "Enter" && onChange({ [name]: event.currentTarget.value })}
        />
      ))}
    </div>
  );
}

interface RowProps {
  entry: Schemas["AuditAnswer"];
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
}

function AuditRow({ entry, isOpen, onOpen }: RowProps) {
  const { t } = useTranslation("settings");
  const { before, after, address, request_id } = entry;
  return (
    <>
      <tr>
        <td className="num">
          <Moment at={entry.at} />
        </td>
        <td title={address ?? undefined}>
          {entry.actor} <span className="mute">{t(`actor.${entry.actor_kind}`)}</span>
        </td>
        <td>
          <code>{entry.action}</code>
        </td>
        <td className="wide">
          <span className="mute">{entry.object_kind}</span> {entry.object_name ?? entry.object_id}
        </td>
        <td>{entry.project ?? "–"}</td>
        <td>
          <i className="st" data-s={entry.outcome === "DONE" ? "SUCCESS" : "FAILURE"} aria-hidden />{" "}
          {t(`outcome.${entry.outcome}`)}
        </td>
        <td className="num">
          <Button size="compact-sm" variant="default" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)}>
            {t("details")}
          </Button>
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td />
          <td colSpan={6} className="wrap">
            <pre className="json">{JSON.stringify({ before, after, address, request_id }, null, 2)}</pre>
          </td>
        </tr>
      )}
    </>
  );
}

import { Button, Select, TextInput } from "@mantine/core";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Fragment } from "react";
import { useTranslation } from "react-i18next";
import { api, bodyOf } from "@/api/client";
import { Answer, Empty } from "@/parts/Answer";
import { More } from "@/parts/More";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
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
  const navigate = useNavigate();
  const projects = useQuery(projectNames);
  const { row, outcome, ...rest } = search;
  const texts: Record<string, string> = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, String(value)]),
  );
  const shownOutcome = OUTCOMES.find((each) => each === outcome);
  const filter = { ...texts, outcome: shownOutcome };
  const found = useInfiniteQuery({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam }) =>
      bodyOf(
        api.GET("/api/v1/audit", {
          params: { query: { ...filter, limit: PAGE, ...(pageParam !== "" && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (last) => (last.has_more ? last.next_cursor : undefined),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const change = (to: Search) =>
    void navigate({
      to: "/settings/$section",
      params: { section: "audit" },
      search: Object.fromEntries(Object.entries({ ...search, ...to }).filter(([, value]) => value)),
      replace: true,
      resetScroll: false,
    });
  return (
    <>
      <div className="fields audit-filters">
        <Select
          aria-label={t("project")}
          placeholder={t("project")}
          data={projects.data ?? []}
          value={search.project ?? null}
          clearable
          onChange={(project) => change({ project: project ?? undefined })}
        />
        <Select
          aria-label={t("outcome")}
          placeholder={t("outcome")}
          data={OUTCOMES.map((value) => ({ value, label: t(`outcome.${value}`) }))}
          value={search.outcome ?? null}
          clearable
          onChange={(value) => change({ outcome: value ?? undefined })}
        />
        {FILTERS.map((name) => (
          <TextInput
            key={name}
            aria-label={t(`filter.${name}`)}
            placeholder={t(`filter.${name}`)}
            defaultValue={search[name] ?? ""}
            onBlur={(event) => change({ [name]: event.currentTarget.value })}
            onKeyDown={(event) => event.key === "Enter" && change({ [name]: event.currentTarget.value })}
          />
        ))}
      </div>
      <Panel title={t("section.audit")}>
        <Answer
          of={found}
          lines={10}
          isEmpty={(data) => data.pages[0]?.items.length === 0}
          empty={<Empty title={t("noAudit")}>{t("noAuditHelp")}</Empty>}
        >
          {(data) => (
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
              {data.pages
                .flatMap((page) => page.items)
                .map((each) => (
                  <Fragment key={each.id}>
                    <tr>
                      <td className="num">
                        <Moment at={each.at} />
                      </td>
                      <td title={each.address ?? undefined}>
                        {each.actor} <span className="mute">{t(`actor.${each.actor_kind}`)}</span>
                      </td>
                      <td>
                        <code>{each.action}</code>
                      </td>
                      <td className="wide">
                        <span className="mute">{each.object_kind}</span> {each.object_name ?? each.object_id}
                      </td>
                      <td>{each.project ?? "–"}</td>
                      <td>
                        <i className="st" data-s={each.outcome === "DONE" ? "SUCCESS" : "FAILURE"} aria-hidden />{" "}
                        {t(`outcome.${each.outcome}`)}
                      </td>
                      <td className="num">
                        <Button
                          size="compact-sm"
                          variant="default"
                          aria-expanded={String(row) === each.id}
                          onClick={() => change({ row: String(row) === each.id ? undefined : each.id })}
                        >
                          {t("details")}
                        </Button>
                      </td>
                    </tr>
                    {String(row) === each.id && (
                      <tr>
                        <td />
                        <td colSpan={6} className="wrap">
                          <pre className="json">
                            {JSON.stringify(
                              {
                                before: each.before,
                                after: each.after,
                                address: each.address,
                                request_id: each.request_id,
                              },
                              null,
                              2,
                            )}
                          </pre>
                        </td>
                      </tr>
                    )}
                  </Fragment>
                ))}
            </Table>
          )}
        </Answer>
        <More of={found} word={t("older")} />
      </Panel>
    </>
  );
}

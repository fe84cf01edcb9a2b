import { Checkbox } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { Confirm } from "@/forms/Confirm";
import { useWhyNot } from "@/login/rights";
import { SmallAct } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { say, sayFailure, sayIncomplete } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { ErrorRow } from "./ErrorRow";
import { changedQueue, errorCommands } from "./queries";
import { Retried } from "./Retried";

/** Commands that a master could not handle: the reason, the raw row, and what can be done. */
export function ErrorCommands() {
  const { t } = useTranslation("queue");
  const search = useSearch({ strict: false }) as { cursor?: string; error?: string };
  const navigate = useNavigate();
  const found = useQuery(errorCommands(search.cursor));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const ids = (found.data?.items ?? []).map((each) => each.id);
  const selected = ids.filter((id) => chosen.has(id));
  const go = (to: { cursor?: string; error?: string }) =>
    void navigate({ to: "/queue", search: to, replace: true, resetScroll: false });
  const select = (id: string, isOn: boolean) =>
    setChosen(new Set(isOn ? [...chosen, id] : [...chosen].filter((each) => each !== id)));
  return (
    <Panel
      title={t("errors")}
      remark={found.data && `${ids.length}${found.data.has_more ? "+" : ""}`}
      end={ids.length > 0 && <ForSelected selected={selected} onDone={() => setChosen(new Set())} />}
    >
      <Answer of={found} empty={<Empty title={t("noErrors")}>{t("noErrorsHelp")}</Empty>}>
        {(page) => (
          <Table
            heads={[
              <th key="select">
                <Checkbox
                  size="xs"
                  radius="xs"
                  aria-label={t("selectAll")}
                  checked={selected.length === ids.length}
                  indeterminate={selected.length > 0 && selected.length < ids.length}
                  onChange={(event) => setChosen(new Set(event.currentTarget.checked ? ids : []))}
                />
              </th>,
              { num: t("command") },
              t("type"),
              t("about"),
              t("reason"),
              { num: t("refused") },
              { unseen: t("actions") },
            ]}
          >
            {page.items.map((each) => (
              <ErrorRow
                key={each.id}
                error={each}
                isChosen={chosen.has(each.id)}
                onChoose={(isOn) => select(each.id, isOn)}
                isOpen={search.error === each.id}
                onOpen={(isOpen) => go({ cursor: search.cursor, error: isOpen ? each.id : undefined })}
              />
            ))}
          </Table>
        )}
      </Answer>
      {(found.data?.has_more || search.cursor !== undefined) && (
        <footer>
          <div className="end">
            <SmallAct onClick={() => go({})} word={t("newest")} />
            {found.data?.has_more && (
              <SmallAct onClick={() => go({ cursor: found.data?.next_cursor ?? undefined })} word={t("older")} />
            )}
          </div>
        </footer>
      )}
    </Panel>
  );
}

/** What can be done with the selected commands. */
function ForSelected({ selected, onDone }: { selected: string[]; onDone: () => void }) {
  const { t } = useTranslation("queue");
  const whyNot = useWhyNot("OPERATOR") ?? (selected.length === 0 ? t("selectFirst") : null);
  const [isDropping, setIsDropping] = useState(false);
  const retry = useMutation({
    mutationFn: () => api.POST("/api/v1/error-commands:retry", { body: { ids: selected, skip_refused: true } }),
    onSuccess: async ({ retried, refused }) => {
      const tell = refused.length === 0 ? say : sayIncomplete;
      tell(
        <>
          {t("retriedSome", { count: retried.length })}{" "}
          {retried.slice(0, 5).map((each) => (
            <Retried key={each.command_id} id={each.command_id} />
          ))}
          {refused.map((each) => (
            <p key={each.id}>{t("stillThere", { id: each.id, why: each.reason })}</p>
          ))}
        </>,
      );
      onDone();
      await changedQueue();
    },
    onError: sayFailure,
  });
  const drop = useMutation({
    mutationFn: () => api.POST("/api/v1/error-commands:drop", { body: { ids: selected } }),
    onSuccess: async ({ dropped }) => {
      setIsDropping(false);
      onDone();
      say(t("droppedSome", { count: dropped.length }));
      await changedQueue();
    },
  });
  return (
    <>
      <span>{t("selected", { count: selected.length })}</span>
      <SmallAct loading={retry.isPending} why={whyNot} onClick={() => retry.mutate()} word={t("retry")} />
      <SmallAct why={whyNot} onClick={() => setIsDropping(true)} word={t("drop")} />
      {isDropping && (
        <Confirm
          title={t("dropTitle", { count: selected.length })}
          verb={t("drop")}
          sending={drop}
          onClose={() => setIsDropping(false)}
        >
          <p>{t("dropHelp")}</p>
        </Confirm>
      )}
    </>
  );
}

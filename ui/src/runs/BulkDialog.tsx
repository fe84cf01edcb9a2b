import { Button, Progress } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { SmallAct } from "@/parts/Act";
import { Failure, Skeleton } from "@/parts/Answer";
import { Dialog } from "@/parts/Dialog";
import { Mark, State } from "@/parts/State";
import { count } from "@/parts/time";
import type { Action, Target } from "./selection";

const LOOK_AGAIN_MS = 1_000;

interface Props {
  action: Action;
  target: Target;
  onClose: () => void;
  /** The change is so large that it continues by itself, as this operation. */
  onOperation: (id: string) => void;
}

/** Does something with many runs: first says what it would do, then does it, then shows what became of it. */
export function BulkDialog({ action, target, onClose, onOperation }: Props) {
  const { t } = useTranslation("runs");
  const cache = useQueryClient();
  const change = useMutation({
    mutationFn: (dryRun: boolean) =>
      api.POST("/api/v1/workflow-instances:bulk", { body: { action, dry_run: dryRun, ids: [], ...target } }),
    onSuccess: (answer) => {
      if (answer.dry_run) return;
      void cache.invalidateQueries({ queryKey: ["runs"] });
      if (answer.operation_id != null) onOperation(answer.operation_id);
    },
  });
  const { mutate, data } = change;
  useEffect(() => mutate(true), [mutate]);
  const isDone = data !== undefined && !data.dry_run;
  return (
    <Dialog onClose={onClose} title={t(`act.${action}`)}>
      <div className="stack" aria-live="polite">
        {change.error !== null ? (
          <Failure error={change.error} again={() => mutate(true)} />
        ) : data === undefined ? (
          <Skeleton lines={2} />
        ) : isDone ? (
          <Became answer={data} />
        ) : (
          <Would answer={data} />
        )}
        <div className="line end">
          <SmallAct onClick={onClose} word={isDone ? t("close") : t("cancel")} />
          {!isDone && data !== undefined && data.runs > 0 && (
            <Button
              size="xs"
              color={action === "STOP" ? "red" : undefined}
              loading={change.isPending}
              data-autofocus
              onClick={() => mutate(false)}
            >
              {t(`do.${action}`, { count: data.runs, number: count(data.runs) })}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

/** The sentence of the dry run, and why some runs stay as they are. */
function Would({ answer }: { answer: Schemas["BulkAnswer"] }) {
  const { t } = useTranslation("runs");
  return (
    <>
      <p className="big">
        {answer.runs === 0
          ? t(`none.${answer.action}`)
          : t(`would.${answer.action}`, { count: answer.runs, number: count(answer.runs) })}
        {answer.skipped_count > 0 &&
          ` ${t("stay", { count: answer.skipped_count, number: count(answer.skipped_count) })}`}
      </p>
      {(answer.older_versions ?? 0) > 0 && (
        <p className="soft">
          {t("older", { count: answer.older_versions, number: count(answer.older_versions ?? 0) })}
        </p>
      )}
      {answer.is_large && <p className="soft">{t("large")}</p>}
      <ul className="skipped">
        {answer.skipped.map((each) => (
          <li key={`${each.state ?? ""}${each.why}`}>
            {each.state && <Mark state={each.state} />} <span className="soft">{each.why}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** How many of the commands were taken by masters, live, and why some were refused. */
function Became({ answer }: { answer: Schemas["BulkAnswer"] }) {
  const { t } = useTranslation("runs");
  const found = useQuery({
    queryKey: ["commands", "of-bulk", answer.command_ids],
    queryFn: () => api.POST("/api/v1/commands:progress", { body: { ids: answer.command_ids ?? [] } }),
    enabled: (answer.command_ids ?? []).length > 0,
    refetchInterval: (query) => (query.state.data?.is_over ? false : LOOK_AGAIN_MS),
  });
  const total = answer.runs;
  const done = (found.data?.done ?? 0) + (found.data?.refused ?? 0);
  return (
    <>
      <p className="big">
        {found.data?.is_over
          ? t("became", {
              number: count(found.data.done),
              count: found.data.refused,
              refused: count(found.data.refused),
            })
          : t("asked", { number: count(total), done: count(done) })}
      </p>
      <Progress value={total === 0 ? 100 : (100 * done) / total} aria-label={t("asked", { number: total, done })} />
      <ul className="skipped">
        {found.data?.refusals.map((each) => (
          <li key={each.command_id}>
            <State state="REFUSED" /> <span className="soft">{each.reason}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

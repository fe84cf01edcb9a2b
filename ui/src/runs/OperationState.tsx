import { Progress } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { SmallAct } from "@/parts/Act";
import { Answer, Failure } from "@/parts/Answer";
import { Ago } from "@/parts/Time";
import { count } from "@/parts/time";

const LOOK_AGAIN_MS = 1_000;

/** A change of very many runs, which an API does in parts: its progress, stopping and resuming it. */
export function OperationState({ id }: { id: string }) {
  const { t } = useTranslation("runs");
  const cache = useQueryClient();
  const path = { params: { path: { id } } };
  const queryKey = ["operations", id];
  const found = useQuery({
    queryKey,
    queryFn: () => api.GET("/api/v1/operations/{id}", path),
    refetchInterval: (query) => (query.state.data?.state === "RUNNING" ? LOOK_AGAIN_MS : false),
  });
  const change = useMutation({
    mutationFn: (goesOn: boolean) =>
      goesOn ? api.POST("/api/v1/operations/{id}/resume", path) : api.POST("/api/v1/operations/{id}/stop", path),
    onSuccess: (answer) => cache.setQueryData(queryKey, answer),
  });
  const done = found.data?.asked;
  useEffect(() => {
    if (done !== undefined) void cache.invalidateQueries({ queryKey: ["runs"] });
  }, [cache, done]);
  return (
    <Answer of={found} lines={2}>
      {(operation) => {
        const left = Math.max(0, operation.total - operation.asked - operation.refused);
        const isOver = operation.state === "DONE";
        return (
          <>
            <p className="big">
              {t(`operation.${operation.state}`, {
                count: operation.total,
                asked: count(operation.asked),
                total: count(operation.total),
              })}
            </p>
            <Progress
              value={isOver || operation.total === 0 ? 100 : (100 * (operation.total - left)) / operation.total}
              aria-label={t("asked", { number: count(operation.total), done: count(operation.asked) })}
            />
            {operation.problem && <p className="problem">{operation.problem}</p>}
            <p className="mute">
              {operation.refused > 0 && `${t("operationRefused", { number: count(operation.refused) })} `}
              {isOver && left > 0 && `${t("operationLeft", { number: count(left) })} `}
              {t(`act.${operation.action}`)}, {operation.by}, <Ago at={operation.created_at} />
            </p>
            {operation.state === "RUNNING" && <p className="mute">{t("operationGoesOn")}</p>}
            {change.error !== null && <Failure error={change.error} />}
            {!isOver && (
              <div className="line">
                <SmallAct
                  loading={change.isPending}
                  onClick={() => change.mutate(operation.state !== "RUNNING")}
                  word={operation.state === "RUNNING" ? t("operationStop") : t("operationResume")}
                />
              </div>
            )}
          </>
        );
      }}
    </Answer>
  );
}

import { CloseButton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { ApiProblem } from "@/api/client";
import { RunLink } from "@/parts/Links";
import type { Changed } from "./changes";
import { keeps } from "./newest";

interface Props {
  changed: Changed | undefined;
  error: Error | null;
  /** The version of the run. */
  version: number;
  close: () => void;
}

/** What became of the last change that was asked for: a sentence below the head of the run. */
export function Outcome({ changed, error, version, close }: Props) {
  const { t } = useTranslation("run");
  if (error !== null) {
    const code = error instanceof ApiProblem ? error.code : "";
    return (
      <div className="outcome failed" role="alert">
        <span>
          <b>{t("refused")}</b> {error.message} {code && <code>[{code}]</code>}
        </span>
        <CloseButton size="sm" aria-label={t("close")} onClick={close} />
      </div>
    );
  }
  if (changed === undefined) return null;
  const { change, command } = changed;
  return (
    <div className="outcome" role="status">
      <span>
        {t(`did.${change.do}`)}{" "}
        {command !== null && (
          <>
            {t("byCommand")} <Link to="/queue">{command.command_id}</Link>
            {command.is_taken ? t("wasTaken") : t("isWaiting")}
            {command.reason}
            {command.newer && !command.reason && <> {keeps(t, version, command.newer)}</>}
            {!command.reason &&
              command.older_below?.map((below) => (
                <span key={below.id}>
                  {" "}
                  <RunLink id={below.id}>{t("child", { workflow: below.workflow, id: below.id })}</RunLink>{" "}
                  {t("belowKeeps", { version: below.version, newest: below.newest })}
                </span>
              ))}
          </>
        )}
      </span>
      <CloseButton size="sm" aria-label={t("close")} onClick={close} />
    </div>
  );
}

import { Checkbox, UnstyledButton } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { Confirm } from "@/forms/Confirm";
import { useWhyNot } from "@/login/rights";
import { Act, RowAct, SmallAct } from "@/parts/Act";
import { RunLink } from "@/parts/Links";
import { say } from "@/parts/notices";
import { Moment } from "@/parts/Time";
import { Fix } from "./Fix";
import { changedQueue, type ErrorCommand } from "./queries";
import { Retried } from "./Retried";

interface Props {
  error: ErrorCommand;
  isChosen: boolean;
  onChoose: (isOn: boolean) => void;
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
}

/** A command that could not be handled; open, it shows its whole row as it was written. */
export function ErrorRow({ error, isChosen, onChoose, isOpen, onOpen }: Props) {
  const { t } = useTranslation("queue");
  const whyNot = useWhyNot(error.project ? "OPERATOR" : "ADMIN", error.project ?? null);
  const [asking, setAsking] = useState<"fix" | "drop" | null>(null);
  const drop = useMutation({
    mutationFn: () => api.DELETE("/api/v1/error-commands/{id}", { params: { path: { id: error.id } } }),
    onSuccess: async () => {
      setAsking(null);
      say(t("dropped", { id: error.id }));
      await changedQueue();
    },
  });
  const retried = async (id: string) => {
    setAsking(null);
    say(
      <>
        {t("retried", { id: error.id })} <Retried id={id} />
      </>,
    );
    await changedQueue();
  };
  const Chevron = isOpen ? IconChevronDown : IconChevronRight;
  return (
    <>
      <tr aria-selected={isChosen}>
        <td>
          <Checkbox
            size="xs"
            radius="xs"
            aria-label={t("select", { id: error.id })}
            checked={isChosen}
            onChange={(event) => onChoose(event.currentTarget.checked)}
          />
        </td>
        <td className="num">
          <UnstyledButton
            className="line open-row"
            aria-expanded={isOpen}
            aria-label={t("rawOf", { id: error.id })}
            onClick={() => onOpen(!isOpen)}
          >
            <Chevron size={14} aria-hidden /> {error.id}
          </UnstyledButton>
        </td>
        <td>{t(`type.${error.type}`, { defaultValue: error.type })}</td>
        <td>
          {error.workflow_instance_id ? (
            <RunLink id={error.workflow_instance_id}>{t("run", { id: error.workflow_instance_id })}</RunLink>
          ) : (
            t("workflowCode", { code: error.workflow_code ?? "–" })
          )}
        </td>
        <td className="wide" title={error.reason}>
          {error.reason}
        </td>
        <td className="num">
          <Moment at={error.refused_at} />
        </td>
        <td>
          <div className="row-acts">
            <Act size="compact-sm" why={whyNot} onClick={() => setAsking("fix")} word={t("fix")} />
            <RowAct why={whyNot} onClick={() => setAsking("drop")} word={t("drop")} />
          </div>
        </td>
      </tr>
      {isOpen && (
        <tr className="raw">
          <td />
          <td colSpan={6}>
            <p>{error.reason}</p>
            <pre>{JSON.stringify(error, null, 2)}</pre>
            <SmallAct onClick={() => onOpen(false)} word={t("fold")} />
          </td>
        </tr>
      )}
      {asking === "fix" && <Fix error={error} onClose={() => setAsking(null)} onRetried={retried} />}
      {asking === "drop" && (
        <Confirm title={t("dropTitle", { count: 1 })} verb={t("drop")} sending={drop} onClose={() => setAsking(null)}>
          <p>{t("dropHelp")}</p>
        </Confirm>
      )}
    </>
  );
}

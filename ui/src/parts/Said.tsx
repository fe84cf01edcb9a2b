import { CloseButton } from "@mantine/core";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { type ReactNode, useEffect } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem } from "@/api/client";

const GOOD_MS = 8_000;

export interface Saying {
  isGood: boolean;
  text: ReactNode;
}

/** What an action did, or why it did not: one line, which screen readers hear. */
export function Said({ what, onClose }: { what: Saying | null; onClose: () => void }) {
  const { t } = useTranslation("parts");
  useEffect(() => {
    // Good news goes by itself; what went wrong stays until somebody has read it.
    if (what === null || !what.isGood) return;
    const timer = setTimeout(onClose, GOOD_MS);
    return () => clearTimeout(timer);
  }, [what, onClose]);
  return (
    <div className="said-place" aria-live="polite">
      {what !== null && (
        <div className="said" data-good={what.isGood}>
          {what.isGood ? <IconCheck size={16} aria-hidden /> : <IconAlertTriangle size={16} aria-hidden />}
          <div className="grow">{what.text}</div>
          <CloseButton size="sm" aria-label={t("close")} onClick={onClose} />
        </div>
      )}
    </div>
  );
}

/** The sentence of a failure with its code and what is wrong with single fields. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof ApiProblem)) return error.message;
  return error.code === "" ? error.message : `${error.message} [${error.code}]`;
}

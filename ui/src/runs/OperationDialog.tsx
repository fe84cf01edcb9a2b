import { useTranslation } from "react-i18next";
import { SmallAct } from "@/parts/Act";
import { Dialog } from "@/parts/Dialog";
import { OperationState } from "./OperationState";

/** The operation that the address names. */
export function OperationDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation("runs");
  return (
    <Dialog onClose={onClose} title={t("operation", { id })}>
      <div className="stack" aria-live="polite">
        <OperationState id={id} />
        <div className="line end">
          <SmallAct onClick={onClose} word={t("close")} />
        </div>
      </div>
    </Dialog>
  );
}

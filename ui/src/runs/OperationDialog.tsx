import { Button, Modal } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { OperationState } from "./OperationState";

/** The operation that the address names. */
export function OperationDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation("runs");
  return (
    <Modal opened onClose={onClose} title={t("operation", { id })} closeButtonProps={{ "aria-label": t("close") }}>
      <div className="stack" aria-live="polite">
        <OperationState id={id} />
        <div className="line end">
          <Button size="xs" variant="default" onClick={onClose}>
            {t("close")}
          </Button>
        </div>
      </div>
    </Modal>
  );
}

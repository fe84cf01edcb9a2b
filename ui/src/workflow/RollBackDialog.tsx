import { Button, Modal } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Failure } from "@/parts/Answer";

interface Props {
  version: number;
  current: number;
  isBusy: boolean;
  error: Error | null;
  onClose: () => void;
  onConfirm: () => void;
}

/** Says what rolling back does, before it does. */
export function RollBackDialog({ version, current, isBusy, error, onClose, onConfirm }: Props) {
  const { t } = useTranslation("workflow");
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("rollBackTitle", { version })}
      closeButtonProps={{ "aria-label": t("close") }}
    >
      <div className="dialog">
        <p>{t("rollBackMeans", { version, next: current + 1 })}</p>
        {error !== null && <Failure error={error} />}
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            {t("cancel")}
          </Button>
          <Button data-autofocus loading={isBusy} onClick={onConfirm}>
            {t("rollBack")}
          </Button>
        </div>
      </div>
    </Modal>
  );
}

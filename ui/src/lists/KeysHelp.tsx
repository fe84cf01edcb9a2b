import { Modal } from "@mantine/core";
import { useTranslation } from "react-i18next";

/** The keys of a list, in words. */
export function KeysHelp({
  keys,
  opened,
  onClose,
}: {
  keys: [string, string][];
  opened: boolean;
  onClose: () => void;
}) {
  const { t } = useTranslation("lists");
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t("keys")}
      size="sm"
      closeButtonProps={{ "aria-label": t("close") }}
    >
      <dl className="keys">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd className="kbd">{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}

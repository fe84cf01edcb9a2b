import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

/** What covers the page while it exists; then what had the focus before has it again, if that is still there. */
export function Dialog(props: Omit<ModalProps, "opened">) {
  const { t } = useTranslation("parts");
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    },
    [before],
  );
  // Its head is no banner of the page.
  const attributes = { header: { role: "presentation" } };
  return <Modal opened closeButtonProps={{ "aria-label": t("close") }} attributes={attributes} {...props} />;
}

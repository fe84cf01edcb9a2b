import { Modal, type ModalProps } from "@mantine/core";
import { useTranslation } from "react-i18next";

/** What covers the page until it is closed. */
export function Dialog(props: Omit<ModalProps, "opened"> & { opened?: boolean }) {
  const { t } = useTranslation("parts");
  // Its head is no banner of the page.
  const attributes = { header: { role: "presentation" } };
  return <Modal opened closeButtonProps={{ "aria-label": t("close") }} attributes={attributes} {...props} />;
}

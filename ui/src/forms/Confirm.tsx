import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "@/parts/Dialog";
import { Refusal } from "./Refusal";
import { useFocusBack } from "./useFocusBack";

interface Props {
  title: string;
  /** The word on the button: what will be done. */
  verb: string;
  /** What does it. */
  sending: { mutate: () => void; isPending: boolean; error: Error | null };
  onClose: () => void;
  children: ReactNode;
}

/** Asks once more before something that cannot be undone, and says what will happen. */
export function Confirm({ title, verb, sending, onClose, children }: Props) {
  const { t } = useTranslation("forms");
  useFocusBack();
  return (
    <Dialog onClose={onClose} title={title} lockScroll={false}>
      <div className="dialog">
        {children}
        <Refusal error={sending.error} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            {t("cancel")}
          </Button>
          <Button color="coral" loading={sending.isPending} onClick={() => sending.mutate()} data-autofocus>
            {verb}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

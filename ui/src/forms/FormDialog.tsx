import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { Dialog } from "@/parts/Dialog";
import { IS_MAC } from "@/parts/platform";
import { Form } from "./Form";
import { faultBeside } from "./faults";
import { Refusal } from "./Refusal";
import { Submit } from "./Submit";

interface Props {
  title: string;
  /** How wide it is, in pixels or as Mantine says. */
  size?: number | string;
  /** The word on the button that sends it. */
  verb: string;
  /** Why it cannot be sent now. */
  why?: string | null;
  /** What sends it. */
  sending: { mutate: () => void; isPending: boolean; error: Error | null };
  /** The fields that show what is wrong with them; other faults are shown above the buttons. */
  fields?: readonly string[];
  /** Another button, before the others. */
  also?: ReactNode;
  /** Whether the button that sends it has the focus when it opens. */
  isFirst?: boolean;
  /** The colour of that button. */
  color?: string;
  /** Whether the server says what is wrong with a value, not the browser. */
  isCheckedByServer?: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** A form over the page: its fields, why it was refused, and its buttons. */
export function FormDialog({ title, size, verb, why = null, sending, fields = [], also, onClose, ...props }: Props) {
  const { t } = useTranslation("forms");
  const { isFirst, color, isCheckedByServer, children } = props;
  const word = (
    <>
      {verb}
      <span className="keys-hint" aria-hidden>
        {IS_MAC ? "⌘ ↵" : "Ctrl ↵"}
      </span>
    </>
  );
  return (
    <Dialog onClose={onClose} {...(size !== undefined && { size })} title={title} lockScroll={false}>
      <Form send={why === null && !sending.isPending ? sending.mutate : null} isCheckedByServer={isCheckedByServer}>
        {children}
        <Refusal error={faultBeside(sending.error, ...fields)} />
        <div className="dialog-end">
          {also}
          <Act variant="default" onClick={onClose} word={t("cancel")} />
          <Submit isPending={sending.isPending} why={why} isFirst={isFirst} color={color} word={word} />
        </div>
      </Form>
    </Dialog>
  );
}

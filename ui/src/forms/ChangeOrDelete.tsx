import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { RowAct } from "@/parts/Act";
import { Confirm } from "./Confirm";
import { useDone } from "./useDone";

interface Props {
  /** Of what the row shows. */
  name: string;
  /** Why neither can be pressed; null: they can. */
  whyNot: string | null;
  /** Another word on the button that changes it. */
  verb?: string;
  /** Without it, it is only deleted. */
  onChange?: () => void;
  remove: () => Promise<unknown>;
  /** What is read again when it is deleted: words of queries. */
  touches: readonly string[];
  onGone?: () => void;
  /** What is said before it is deleted. */
  children: ReactNode;
}

/** The buttons that change and delete what a row shows; before a deletion it is asked for once more. */
export function ChangeOrDelete({ name, whyNot, verb, onChange, onGone, ...props }: Props) {
  const { t } = useTranslation("forms");
  const done = useDone(...props.touches);
  const [isGoing, setIsGoing] = useState(false);
  const removal = useMutation({
    mutationFn: props.remove,
    onSuccess: () => {
      setIsGoing(false);
      onGone?.();
      void done(t("deletedNamed", { name }));
    },
  });
  return (
    <>
      {onChange && <RowAct why={whyNot} onClick={onChange} word={verb ?? t("change")} />}
      <RowAct why={whyNot} onClick={() => setIsGoing(true)} word={t("delete")} />
      {isGoing && (
        <Confirm
          title={t("deleteNamed", { name })}
          verb={t("delete")}
          sending={removal}
          onClose={() => setIsGoing(false)}
        >
          {props.children}
        </Confirm>
      )}
    </>
  );
}

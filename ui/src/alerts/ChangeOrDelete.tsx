import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { Confirm } from "@/forms/Confirm";
import { useDone } from "@/forms/useDone";
import { Act } from "@/parts/Act";

interface Props {
  /** Of what the row shows. */
  name: string;
  /** Why neither can be pressed; null: they can. */
  whyNot: string | null;
  onChange: () => void;
  remove: () => Promise<unknown>;
  /** What is said before it is deleted. */
  children: ReactNode;
}

/** The buttons that change and delete what a row shows; before a deletion it is asked for once more. */
export function ChangeOrDelete({ name, whyNot, onChange, remove, children }: Props) {
  const { t } = useTranslation("alerts");
  const done = useDone("alerts");
  const [isGoing, setIsGoing] = useState(false);
  const removal = useMutation({
    mutationFn: remove,
    onSuccess: () => {
      setIsGoing(false);
      void done(t("deletedNamed", { name }));
    },
  });
  return (
    <>
      <Act size="compact-sm" variant="default" why={whyNot} onClick={onChange}>
        {t("change")}
      </Act>
      <Act size="compact-sm" variant="default" why={whyNot} onClick={() => setIsGoing(true)}>
        {t("delete")}
      </Act>
      {isGoing && (
        <Confirm
          title={t("deleteNamed", { name })}
          verb={t("delete")}
          isPending={removal.isPending}
          error={removal.error}
          onConfirm={() => removal.mutate()}
          onClose={() => setIsGoing(false)}
        >
          {children}
        </Confirm>
      )}
    </>
  );
}

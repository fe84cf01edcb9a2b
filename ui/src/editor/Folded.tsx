import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";

interface Props {
  word: string;
  /** How many of the fields in it have a value. */
  given: number;
  children: ReactNode;
}

/** Fields that are folded unless one of them has a value; they are made when they are seen. */
export function Folded({ word, given, children }: Props) {
  const { t } = useTranslation("editor");
  const [isOpen] = useState(given > 0);
  const [isMade, setMade] = useState(isOpen);
  return (
    <details className="more" open={isOpen || undefined} onToggle={() => setMade(true)}>
      <summary>
        {word} <span className="mute">{given === 0 ? t("standard") : t("given", { count: given })}</span>
      </summary>
      {isMade && <div className="form">{children}</div>}
    </details>
  );
}

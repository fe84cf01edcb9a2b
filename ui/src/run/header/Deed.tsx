import type { Icon as TablerIcon } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { SureAct } from "@/parts/SureAct";

interface Props {
  /** The key of the sentence that says why it cannot be done; null = it can. */
  whyNot: string | null;
  icon?: TablerIcon;
  onClick: () => void;
  word: string;
  size?: "xs" | "sm";
  isMain?: boolean;
  /** What it says before it does it at the second press. */
  sure?: string | undefined;
}

/** A button that does something to the run. */
export function Deed({ whyNot, icon: Icon, size = "sm", isMain = false, sure, ...rest }: Props) {
  const { t } = useTranslation("run");
  const variant = isMain ? "filled" : "default";
  const shown = Icon && <Icon size={16} stroke={1.5} aria-hidden />;
  const act = { variant, size, leftSection: shown, why: whyNot && t(whyNot), ...rest };
  return sure === undefined ? <Act {...act} /> : <SureAct {...act} sure={sure} />;
}

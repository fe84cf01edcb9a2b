import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";

interface Props {
  /** The key of the sentence that says why it cannot be done; null = it can. */
  whyNot: string | null;
  icon?: ReactNode;
  onClick: () => void;
  children: ReactNode;
  size?: "xs" | "sm";
  isMain?: boolean;
}

/** A button that does something to the run. */
export function Deed({ whyNot, icon, size = "sm", isMain = false, ...rest }: Props) {
  const { t } = useTranslation("run");
  const variant = isMain ? "filled" : "default";
  return <Act variant={variant} size={size} leftSection={icon} why={whyNot && t(whyNot)} {...rest} />;
}

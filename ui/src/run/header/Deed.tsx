import { Button, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

interface Props {
  /** The key of the sentence that says why it cannot be done; null = it can. */
  whyNot: string | null;
  icon?: ReactNode;
  onClick: () => void;
  children: ReactNode;
  size?: "xs" | "sm";
  isMain?: boolean;
}

/** A button that does something to the run; one that cannot be pressed says why, to the pointer and to the keyboard. */
export function Deed({ whyNot, icon, onClick, children, size = "sm", isMain = false }: Props) {
  const { t } = useTranslation("run");
  const button = (
    <Button
      variant={isMain ? "filled" : "default"}
      size={size}
      leftSection={icon}
      data-disabled={whyNot !== null || undefined}
      aria-disabled={whyNot !== null || undefined}
      aria-description={whyNot === null ? undefined : t(whyNot)}
      onClick={() => whyNot === null && onClick()}
    >
      {children}
    </Button>
  );
  if (whyNot === null) return button;
  return (
    <Tooltip label={t(whyNot)} multiline maw={280} events={{ hover: true, focus: true, touch: true }}>
      {button}
    </Tooltip>
  );
}

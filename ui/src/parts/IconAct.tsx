import { ActionIcon, type ActionIconProps } from "@mantine/core";
import type { Icon } from "@tabler/icons-react";
import type { ComponentPropsWithRef } from "react";

interface Props extends ActionIconProps, Pick<ComponentPropsWithRef<"button">, "onClick" | "ref" | "aria-pressed"> {
  icon: Icon;
  /** What it does, for the pointer and for screen readers. */
  word: string;
}

/** A button with an icon alone; with an edge around it the icon is larger. */
export function IconAct({ icon: Shown, word, ...rest }: Props) {
  return (
    <ActionIcon variant="subtle" color="gray" aria-label={word} title={word} {...rest}>
      <Shown size={rest.variant === "default" ? 16 : 14} stroke={1.5} aria-hidden />
    </ActionIcon>
  );
}

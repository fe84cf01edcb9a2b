import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import type { ComponentPropsWithoutRef, ReactNode } from "react";

interface Props extends ButtonProps, Pick<ComponentPropsWithoutRef<"button">, "type" | "onClick"> {
  /** Why it cannot be pressed now; it stays in reach of the keyboard, and says so. */
  why?: string | null | undefined;
  children: ReactNode;
  hint?: string;
}

/** A button that does something. One that must not be pressed says why, under the pointer and to screen readers. */
export function Act({ why, onClick, children, hint, ...rest }: Props) {
  const isOff = why != null && why !== "";
  const button = (
    <Button
      {...rest}
      aria-disabled={isOff || undefined}
      data-disabled={isOff || undefined}
      aria-description={isOff ? why : undefined}
      onClick={(event) => (isOff ? event.preventDefault() : onClick?.(event))}
    >
      {children}
    </Button>
  );
  const said = isOff ? why : hint;
  return said ? (
    <Tooltip label={said} events={{ hover: true, focus: true, touch: true }} multiline maw={320} withArrow>
      {button}
    </Tooltip>
  ) : (
    button
  );
}

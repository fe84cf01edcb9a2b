import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import type { ComponentPropsWithoutRef, ReactNode } from "react";

interface Props extends ButtonProps, Pick<ComponentPropsWithoutRef<"button">, "type" | "onClick" | "onBlur"> {
  /** What stands on it. */
  word: ReactNode;
  /** Why it cannot be pressed now; it stays in reach of the keyboard, and says so. */
  why?: string | null | undefined;
  hint?: string;
}

/** A button that does something. One that must not be pressed says why, under the pointer and to screen readers. */
export function Act({ word, why, onClick, hint, ...rest }: Props) {
  const isOff = why != null && why !== "";
  const button = (
    <Button
      {...rest}
      aria-disabled={isOff || undefined}
      data-disabled={isOff || undefined}
      aria-description={isOff ? why : undefined}
      onClick={(event) => (isOff ? event.preventDefault() : onClick?.(event))}
    >
      {word}
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

/** One at the head or the end of a panel. */
export function SmallAct(props: Props) {
  return <Act size="xs" variant="default" {...props} />;
}

/** One in a row of a table. */
export function RowAct(props: Props) {
  return <Act size="compact-sm" variant="default" {...props} />;
}

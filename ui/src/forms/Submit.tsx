import { Button, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  /** Why it cannot be sent now; it stays in reach of the keyboard, and says so. */
  why?: string | null;
  isPending: boolean;
  children: ReactNode;
}

/** Sends the form that it is in. */
export function Submit({ why = null, isPending, children }: Props) {
  const button = (
    <Button
      type="submit"
      loading={isPending}
      aria-disabled={why !== null || undefined}
      data-disabled={why !== null || undefined}
      aria-description={why ?? undefined}
      onClick={(event) => why !== null && event.preventDefault()}
    >
      {children}
    </Button>
  );
  if (why === null) return button;
  return (
    <Tooltip label={why} events={{ hover: true, focus: true, touch: true }} multiline maw={320} withArrow>
      {button}
    </Tooltip>
  );
}

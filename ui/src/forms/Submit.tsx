import { Button, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  /** Why it cannot be sent now; it stays in reach of the keyboard, and says so. */
  why?: string | null;
  isPending: boolean;
  /** Whether it has the focus when its dialog opens. */
  isFirst?: boolean | undefined;
  children: ReactNode;
}

/** Sends the form that it is in. */
export function Submit({ why = null, isPending, isFirst, children }: Props) {
  const button = (
    <Button
      type="submit"
      loading={isPending}
      data-autofocus={isFirst || undefined}
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

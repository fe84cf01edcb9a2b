import type { ReactNode } from "react";
import { Act } from "@/parts/Act";

interface Props {
  /** Why it cannot be sent now. */
  why?: string | null;
  isPending: boolean;
  /** Whether it has the focus when its dialog opens. */
  isFirst?: boolean | undefined;
  color?: string | undefined;
  word: ReactNode;
}

/** Sends the form that it is in. */
export function Submit({ isPending, isFirst, ...rest }: Props) {
  return <Act type="submit" loading={isPending} data-autofocus={isFirst || undefined} {...rest} />;
}

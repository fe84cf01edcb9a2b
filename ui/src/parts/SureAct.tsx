import { type ComponentProps, useState } from "react";
import { Act } from "./Act";

/** A button that asks once more, on itself: the second press does it. */
export function SureAct({ sure, ...act }: ComponentProps<typeof Act> & { sure: string }) {
  const [isSure, setIsSure] = useState(false);
  if (!isSure) return <Act {...act} onClick={() => setIsSure(true)} />;
  return <Act {...act} word={sure} variant="filled" color="red" onBlur={() => setIsSure(false)} />;
}

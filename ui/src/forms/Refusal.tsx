import { IconAlertTriangle } from "@tabler/icons-react";
import { sentenceOf } from "@/parts/sentence";

/** Why an action was refused: the sentence of the problem with its code. */
export function Refusal({ error }: { error: Error | null }) {
  if (error === null) return null;
  return (
    <p className="refusal" role="alert">
      <IconAlertTriangle size={16} stroke={1.5} aria-hidden />
      <span>{sentenceOf(error)}</span>
    </p>
  );
}

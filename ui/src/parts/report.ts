/** What a running task reported, in words: `epoch 12/40`, `rows 68 %`. */
import type { Schemas } from "@/api/client";

export function reported({ text, done, total, percent }: Schemas["ProgressAnswer"]): string {
  const amount = total != null ? `${done}/${total}` : `${Math.round(percent)} %`;
  return text ? `${text} ${amount}` : amount;
}

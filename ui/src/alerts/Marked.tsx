import type { TFunction } from "i18next";
import { Look } from "@/parts/State";
import type { Look as Known } from "./looks";

/** A look with its word. */
export function Marked({ of, t, title }: { of: Known; t: TFunction<"alerts">; title?: string | undefined }) {
  return <Look of={of.look} word={t(of.word as never)} title={title} />;
}

import type { TFunction } from "i18next";
import type { Look } from "./looks";

/** A look with its word. */
export function Marked({ of, t, title }: { of: Look; t: TFunction<"alerts">; title?: string | undefined }) {
  return (
    <span className="state" data-s={of.look} title={title}>
      {t(of.word as never)}
    </span>
  );
}

import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { useMay } from "@/login/rights";

/** Why a workflow cannot be started; null = it can. Without a state it is not published. */
export function useNoRun(project: string, state: Schemas["ReleaseState"] | undefined): string | null {
  const { t } = useTranslation("start");
  const mayRun = useMay("OPERATOR", project);
  if (state === undefined) return t("isNew");
  if (state === "OFFLINE") return t("offline");
  return mayRun ? null : t("role", { project });
}

/** A run keeps its version when it is rerun: words about the newest one. */
import type { TFunction } from "i18next";
import type { Schemas } from "@/api/client";

type Newer = Schemas["NewerVersionAnswer"];
const NAMED_MAX = 3;

/** That a run keeps its version, and what the newer one changes. */
export function keeps(t: TFunction<"run">, version: number, newer: Newer): string {
  const { changes } = newer;
  const tasks = changes.slice(0, NAMED_MAX).join(", ");
  const more = changes.length - NAMED_MAX;
  const said = changes.length === 0 ? t("noTaskChanged") : more > 0 ? t("andMore", { tasks, more }) : tasks;
  return t("keepsVersion", { version, newer: newer.version, tasks: said });
}

/** The button that continues with the newest version. */
export function runNewest(t: TFunction<"run">, { version, begins_with: task }: Newer): string {
  return task ? t("runNewestFrom", { version, task }) : t("runNewest", { version });
}

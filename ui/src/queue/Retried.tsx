import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { RunLink } from "@/parts/Links";
import { commandOf } from "./queries";

/** What became of a command that was asked for again: it waits, was refused, or is a run. */
export function Retried({ id }: { id: string }) {
  const { t } = useTranslation("queue");
  const { data } = useQuery(commandOf(id));
  if (data?.run_id) return <RunLink id={data.run_id}>{t("run", { id: data.run_id })}</RunLink>;
  if (data?.reason) return <span>{t("refusedAgain", { id, why: data.reason })}</span>;
  return <span>{t("waits", { id })}</span>;
}

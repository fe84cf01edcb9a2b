import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, match } from "@/api/client";
import { changedWorkflow, type Head } from "@/editor/queries";
import { FormDialog } from "@/forms/FormDialog";
import { say } from "@/parts/notices";
import { useWorkflowSearch } from "./search";

/** Says what rolling back does, and does it. */
export function RollBackDialog({ head, version, onClose }: { head: Head; version: number; onClose: () => void }) {
  const { t } = useTranslation("workflow");
  const { change } = useWorkflowSearch();
  const back = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/workflow-definitions/{code}/roll-back", {
        params: { path: { code: head.code }, header: match(head.version) },
        body: { version },
      }),
    onSuccess: (saved) => {
      onClose();
      changedWorkflow();
      change({ older: undefined, newer: undefined });
      say(t(saved.is_new_version ? "rolledBack" : "publishedSame", { from: version, version: saved.version }));
    },
  });
  return (
    <FormDialog title={t("rollBackTitle", { version })} verb={t("rollBack")} sending={back} isFirst onClose={onClose}>
      <p>{t("rollBackMeans", { version, next: head.version + 1 })}</p>
    </FormDialog>
  );
}

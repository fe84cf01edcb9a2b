import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { asked } from "@/api/reads";
import { Answer } from "@/parts/Answer";
import { Dialog } from "@/parts/Dialog";
import { Sentence } from "@/parts/Sentence";

/** Why a run, or a task of it, is as it is, and what to do about it. */
export function WhyDialog({ run, task, onClose }: { run: string; task?: string | undefined; onClose: () => void }) {
  const { t } = useTranslation("runs");
  const found = useQuery(
    asked(["why", run, task ?? ""], () =>
      api.GET("/api/v1/workflow-instances/{id}/why", {
        params: { path: { id: run }, query: { ...(task && { task }) } },
      }),
    ),
  );
  const title = task ? t("whyTask", { run, task }) : t("whyRun", { run });
  return (
    <Dialog onClose={onClose} title={title}>
      <Answer of={found} lines={2}>
        {(answer) => (
          <div className="stack">
            <p className="big">{answer.why}</p>
            {answer.do !== "" && (
              <p className="soft">
                → <Sentence text={answer.do} />
              </p>
            )}
          </div>
        )}
      </Answer>
    </Dialog>
  );
}

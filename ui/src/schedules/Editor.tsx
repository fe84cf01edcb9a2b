import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Answer } from "@/parts/Answer";
import { Dialog } from "@/parts/Dialog";
import { shownZone } from "@/parts/time";
import { draftOf, newDraft } from "./draft";
import { EditorForm } from "./EditorForm";
import { scheduleOf } from "./queries";

interface Props {
  /** null = a new one. */
  id: string | null;
  /** The code of the workflow that a new one is for; "" = not chosen. */
  workflow: string;
  onClose: () => void;
}

/** The dialog in which a schedule is written or changed. */
export function Editor({ id, workflow, onClose }: Props) {
  const { t } = useTranslation("schedules");
  const found = useQuery({ ...scheduleOf(id ?? ""), enabled: id !== null, refetchOnWindowFocus: false });
  const title = id === null ? t("newTitle") : t("editTitle", { id, name: found.data?.workflow ?? "" });
  return (
    <Dialog onClose={onClose} title={title} size={1120} lockScroll={false}>
      {id === null ? (
        <EditorForm before={newDraft(workflow || null, shownZone())} onClose={onClose} />
      ) : (
        <Answer of={found} lines={8} isTyped>
          {(schedule) => <EditorForm schedule={schedule} before={draftOf(schedule)} onClose={onClose} />}
        </Answer>
      )}
    </Dialog>
  );
}

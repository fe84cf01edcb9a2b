import { Button, Modal } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { ApiProblem, api, bodyOf } from "@/api/client";
import { Answer, Failure } from "@/parts/Answer";
import { DiffLines } from "./DiffLines";
import { type DraftOf, publish, type Saved } from "./useDraft";

interface Props {
  project: string;
  name: string;
  text: string;
  draft: DraftOf;
  onClose: () => void;
  onPublished: (saved: Saved) => void;
}

/** What publishing would change, before it does: the draft is saved, compared, then published. */
export function PublishDialog({ project, name, text, draft, onClose, onPublished }: Props) {
  const { t } = useTranslation("workflow");
  const path = { project, name };
  const head = draft.source.data?.head;
  const compared = useQuery({
    queryKey: ["draft-diff", project, name, text, head?.version],
    queryFn: () => bodyOf(api.GET("/api/v1/workflow-drafts/{project}/{name}/diff", { params: { path } })),
    retry: false,
    gcTime: 0,
  });
  const act = useMutation({ mutationFn: () => publish(project, name), onSuccess: onPublished });
  const rebase = useMutation({
    mutationFn: () => draft.keep(text, head?.version),
    onSuccess: () => {
      act.reset();
      void compared.refetch();
    },
  });
  const isBehind = act.error instanceof ApiProblem && act.error.status === 412;
  const next = (head?.version ?? 0) + 1;
  const isSame = compared.data !== undefined && compared.data.diff.length === 0;
  return (
    <Modal
      opened
      onClose={onClose}
      title={head ? t("publishTitle", { name, version: next }) : t("publishNew", { name })}
      size="xl"
      closeButtonProps={{ "aria-label": t("close") }}
    >
      <div className="dialog">
        <Answer of={compared} lines={6}>
          {(found) => (
            <>
              {isSame ? <p>{t("noChange")}</p> : <DiffLines lines={found.diff} label={t("yourChanges")} />}
              {found.published_between.length > 0 && (
                <>
                  <p>{t("theirChanges")}</p>
                  <DiffLines lines={found.published_between} label={t("theirChanges")} />
                </>
              )}
            </>
          )}
        </Answer>
        <p className="mute">{t("publishMeans")}</p>
        {act.error !== null && <Failure error={act.error} />}
        {rebase.error !== null && <Failure error={rebase.error} />}
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            {t("cancel")}
          </Button>
          {isBehind ? (
            <Button loading={rebase.isPending} onClick={() => rebase.mutate()}>
              {t("compareWithPresent")}
            </Button>
          ) : (
            compared.data !== undefined && (
              <Button loading={act.isPending} onClick={() => act.mutate()}>
                {t("publish")}
              </Button>
            )
          )}
        </div>
      </div>
    </Modal>
  );
}

import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { Answer } from "@/parts/Answer";
import { originOf } from "./origin";
import { type DraftOf, isClash, type Saved } from "./useDraft";

interface Props {
  project: string;
  name: string;
  text: string;
  draft: DraftOf;
  onClose: () => void;
  onPublished: (saved: Saved) => void;
  /** Somebody published meanwhile. */
  onClash: () => void;
}

/** What publishing would change, before it does: the draft is saved, compared, then published. */
export function PublishDialog({ project, name, text, draft, onClose, onPublished, onClash }: Props) {
  const { t } = useTranslation(["workflow", "parts"]);
  const path = { project, name };
  const { head, published = "" } = draft.source.data ?? {};
  const from = head ? originOf(published, head.version) : null;
  const compared = useQuery({
    queryKey: ["draft-diff", project, name, text, head?.version],
    queryFn: () => api.GET("/api/v1/workflow-drafts/{project}/{name}/diff", { params: { path } }),
    retry: false,
    gcTime: 0,
  });
  const act = useMutation({
    mutationFn: draft.publish,
    onSuccess: onPublished,
    onError: (error) => {
      if (isClash(error)) void draft.readAgain().then(onClash);
    },
  });
  const next = (head?.version ?? 0) + 1;
  const isSame = compared.data !== undefined && compared.data.diff.length === 0;
  return (
    <FormDialog
      title={head ? t("publishTitle", { name, version: next }) : t("publishNew", { name })}
      size="xl"
      verb={t("publish")}
      why={compared.data === undefined ? (compared.error?.message ?? t("parts:loading")) : null}
      sending={{ ...act, error: isClash(act.error) ? null : act.error }}
      isFirst
      onClose={onClose}
    >
      <Answer of={compared} lines={6}>
        {(found) => (isSame ? <p>{t("noChange")}</p> : <DiffLines lines={found.diff} label={t("yourChanges")} />)}
      </Answer>
      {from && <p className="problem">{t("publishBeside", { origin: from.origin })}</p>}
      <p className="mute">{t("publishMeans")}</p>
    </FormDialog>
  );
}

/** The lines of a unified diff, as the server gives them; a sign says what colour says. */
function DiffLines({ lines, label }: { lines: readonly string[]; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section className="diff" aria-label={label} tabIndex={0}>
      {lines
        .filter((line) => !line.startsWith("---") && !line.startsWith("+++"))
        .map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
          <div key={at} data-kind={kindOf(line)}>
            {line.startsWith("@@") ? "···" : line}
          </div>
        ))}
    </section>
  );
}

function kindOf(line: string): string | undefined {
  if (line.startsWith("@@")) return "gap";
  return line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : undefined;
}

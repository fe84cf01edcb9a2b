import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import { IconArrowBackUp, IconArrowForwardUp, IconDots, IconPlayerPlay, type TablerIcon } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { isGone } from "@/api/queries";
import type { Head, Source } from "@/editor/queries";
import type { Editing } from "@/editor/useEditing";
import { Act } from "@/parts/Act";
import { IconAct } from "@/parts/IconAct";
import { LastRuns } from "@/parts/LastRuns";
import { say, sayFailure } from "@/parts/notices";
import { duration } from "@/parts/time";
import { askToRun } from "@/start/asking";
import { useNoRun } from "@/start/useNoRun";
import { StarIt } from "@/workflows/StarIt";
import { ClashStrip } from "./ClashStrip";
import { originOf } from "./origin";
import { PublishDialog } from "./PublishDialog";
import { lastRunsOf } from "./queries";
import { TABS, type Tab } from "./search";
import type { DraftOf } from "./useDraft";

interface Props {
  project: string;
  name: string;
  tab: Tab;
  editing: Editing;
  draft: DraftOf;
  mayEdit: boolean;
}

/** Name, state, last runs, what can be done, and the tabs. */
export function WorkflowHead({ project, name, tab, editing, draft, mayEdit }: Props) {
  const { t } = useTranslation("workflow");
  const [isClashSeen, setIsClashSeen] = useState(false);
  const source = isGone(draft.source.error) ? undefined : draft.source.data;
  const head = source?.head ?? null;
  const noRun = useNoRun(project, head?.release_state);
  const isEditor = tab === "graph" || tab === "settings";
  return (
    <header className="workflow-head">
      <div className="workflow-line">
        <h1 className="cut">
          <Link to="/workflows" className="mute">
            {project}
          </Link>{" "}
          / {name}
        </h1>
        {head !== null && <StarIt workflow={{ code: head.code, project, name }} />}
        {source !== undefined && <Tags source={source} draft={draft} />}
        <LastRunsOf code={head?.code} />
        <div className="workflow-acts">
          {isEditor && mayEdit && (
            <ActionIcon.Group>
              <Step
                icon={IconArrowBackUp}
                word={t("undo")}
                keys="Ctrl Z"
                why={editing.canUndo ? null : t("nothingToUndo")}
                onClick={editing.undo}
              />
              <Step
                icon={IconArrowForwardUp}
                word={t("redo")}
                keys="Ctrl Y"
                why={editing.canRedo ? null : t("nothingToRedo")}
                onClick={editing.redo}
              />
            </ActionIcon.Group>
          )}
          <Act
            variant="default"
            leftSection={<IconPlayerPlay size={14} aria-hidden />}
            why={noRun}
            onClick={() => head !== null && askToRun({ code: head.code, name })}
            word={t("run")}
          />
          {isEditor && (
            <DraftActs
              project={project}
              name={name}
              head={head}
              editing={editing}
              draft={draft}
              mayEdit={mayEdit}
              onClash={() => setIsClashSeen(true)}
            />
          )}
        </div>
      </div>
      <nav className="tabs" aria-label={t("parts")}>
        {TABS.map((each) => (
          <Link
            key={each}
            to="."
            activeOptions={{ exact: true }}
            search={(before: Record<string, unknown>) => ({ ...before, tab: each === "graph" ? undefined : each })}
            aria-current={tab === each ? "page" : undefined}
          >
            {t(`tab.${each}`)}
          </Link>
        ))}
      </nav>
      {draft.clash !== null && mayEdit && (
        <ClashStrip clash={draft.clash} draft={draft} text={editing.text} isSeen={isClashSeen} onSee={setIsClashSeen} />
      )}
    </header>
  );
}

/** Which version is published, whether it can be started, and what of the draft is not in it. */
function Tags({ source: { head, published, draft: saved }, draft }: { source: Source; draft: DraftOf }) {
  const { t } = useTranslation("workflow");
  if (head === null) return <span className="tag draft">{t("newDraft")}</span>;
  const from = originOf(published, head.version);
  return (
    <>
      <span className="tag">v{head.version}</span>
      {from && <span className="tag">{t(from.commit ? "fromCommit" : "from", { ...from })}</span>}
      {head.release_state === "OFFLINE" && <span className="tag draft">{t("offline")}</span>}
      {isChanged(draft) && (
        <span className="tag draft">
          {draft.isDirty ? t("unsaved") : t("draftSince", { version: saved?.base_version ?? head.version })}
        </span>
      )}
    </>
  );
}

function LastRunsOf({ code }: { code: string | undefined }) {
  const { t } = useTranslation("workflow");
  const bars = useQuery(lastRunsOf(code));
  const [found] = bars.data?.items ?? [];
  if (found === undefined || found.runs.length === 0) return null;
  return (
    <span className="workflow-history">
      <LastRuns runs={found.runs} />
      {found.usual_s != null && <span className="mute wide">{t("usually", { time: duration(found.usual_s) })}</span>}
    </span>
  );
}

interface DraftProps extends Omit<Props, "tab"> {
  head: Head | null;
  onClash: () => void;
}

/** What can be done with the draft: saved, published, or given up. */
function DraftActs({ project, name, head, editing, draft, mayEdit, onClash }: DraftProps) {
  const { t } = useTranslation("workflow");
  const [isPublishing, setIsPublishing] = useState(false);
  const noEdit = mayEdit ? null : t("editRole", { project });
  const startPublishing = () => {
    if (editing.fault !== null) return sayFailure(new Error(t("publishFault", { line: editing.fault.line })));
    if (draft.clash !== null) return onClash();
    if (!isChanged(draft)) return say(t("nothingToPublish"));
    void (draft.isDirty ? draft.save.mutateAsync(true) : Promise.resolve("draft")).then(
      (what) => what === "draft" && setIsPublishing(true),
      () => undefined,
    );
  };
  return (
    <>
      <Act
        variant="default"
        loading={draft.save.isPending}
        why={noEdit ?? (draft.isDirty ? null : t("nothingToSave"))}
        onClick={() => draft.save.mutate(false)}
        word={t("saveDraft")}
      />
      <Act why={noEdit} onClick={startPublishing} word={t("publishDots")} />
      {mayEdit && isChanged(draft) && (
        <Menu position="bottom-end">
          <Menu.Target>
            <IconAct icon={IconDots} word={t("more")} variant="default" size={30} />
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => draft.discard.mutate()}>
              {t(head === null ? "discardNew" : "discard", { version: head?.version })}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
      {isPublishing && (
        <PublishDialog
          project={project}
          name={name}
          text={editing.text}
          draft={draft}
          onClose={() => setIsPublishing(false)}
          onPublished={(saved) => {
            setIsPublishing(false);
            draft.published(saved);
          }}
          onClash={() => {
            setIsPublishing(false);
            onClash();
          }}
        />
      )}
    </>
  );
}

function isChanged({ isDirty, hasDraft }: DraftOf): boolean {
  return isDirty || hasDraft;
}

interface StepProps {
  icon: TablerIcon;
  word: string;
  keys: string;
  why: string | null;
  onClick: () => void;
}

function Step({ icon: Icon, word, keys, why, onClick }: StepProps) {
  return (
    <Tooltip label={why ?? `${word} (${keys})`}>
      <ActionIcon
        variant="default"
        size={30}
        aria-label={word}
        data-disabled={why !== null || undefined}
        aria-disabled={why !== null}
        onClick={onClick}
      >
        <Icon size={16} stroke={1.5} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}

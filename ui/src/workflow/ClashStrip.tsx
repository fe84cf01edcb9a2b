import { IconGitMerge } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { Act, RowAct } from "@/parts/Act";
import { Skeleton } from "@/parts/Answer";
import { Dialog } from "@/parts/Dialog";
import { Moment } from "@/parts/Time";
import type { Clash } from "./clash";
import { authorOf, versionText } from "./queries";
import type { DraftOf } from "./useDraft";

const YamlDiff = lazy(() => import("./YamlDiff"));

interface Props {
  clash: Clash;
  draft: DraftOf;
  text: string;
  isSeen: boolean;
  onSee: (isSeen: boolean) => void;
}

/** Says what somebody else did meanwhile, and offers the ways on; nothing typed is lost before one is chosen. */
export function ClashStrip({ clash, draft, text, isSeen, onSee }: Props) {
  const { t } = useTranslation("workflow");
  const head = clash.source.head;
  const version = head?.version ?? 0;
  const by = useQuery(authorOf(clash.kind === "published" ? head?.code : undefined, version));
  const busy = draft.takeMine.isPending || draft.takeTheirs.isPending;
  const close = () => onSee(false);
  const ways = (
    <>
      <Act
        size="compact-sm"
        loading={busy}
        onClick={() => draft.takeMine.mutate(clash, { onSuccess: close })}
        word={clash.kind === "published" ? t("takeMineOnto", { version }) : t("takeMine")}
      />
      <RowAct
        loading={busy}
        onClick={() => draft.takeTheirs.mutate(clash, { onSuccess: close })}
        word={t("takeTheirs")}
      />
    </>
  );
  const said =
    clash.kind === "draft"
      ? t(clash.source.draft === null ? "draftGone" : "draftElsewhere")
      : draft.base === undefined
        ? t("publishedNew", { version })
        : t("publishedMeanwhile", { version, base: draft.base, count: version - draft.base });
  return (
    <div className="clash" role="alert">
      <IconGitMerge size={16} stroke={1.5} aria-hidden />
      <p>
        {said}{" "}
        {by.data && (
          <span className="mute">
            {by.data.created_by}, <Moment at={by.data.created_at} />
          </span>
        )}
      </p>
      <div className="clash-ways">
        <RowAct onClick={() => onSee(true)} word={t("see")} />
        {ways}
      </div>
      {isSeen && (
        <Dialog onClose={close} title={said} size="xl">
          <div className="dialog clash-seen">
            {clash.kind === "published" && head !== null && draft.base !== undefined && (
              <Theirs code={head.code} base={draft.base} version={version} theirs={clash.source.published} />
            )}
            <h3>{t(clash.kind === "published" ? "mineOnTheirs" : "mineBesideTheirs", { version })}</h3>
            <Suspense fallback={<Skeleton lines={6} />}>
              <YamlDiff older={clash.theirs} newer={text} isBeside={false} />
            </Suspense>
            <p className="mute">{t(clash.kind === "published" ? "mineMeans" : "mineMeansDraft", { version })}</p>
            <div className="dialog-end">
              <RowAct onClick={close} word={t("goOnTyping")} />
              {ways}
            </div>
          </div>
        </Dialog>
      )}
    </div>
  );
}

function Theirs({ code, base, version, theirs }: { code: string; base: number; version: number; theirs: string }) {
  const { t } = useTranslation("workflow");
  const before = useQuery(versionText(code, base, false));
  return (
    <>
      <h3>{t("theirChanges", { base, version })}</h3>
      {before.data === undefined ? (
        <Skeleton lines={6} />
      ) : (
        <Suspense fallback={<Skeleton lines={6} />}>
          <YamlDiff older={before.data.yaml} newer={theirs} isBeside={false} />
        </Suspense>
      )}
    </>
  );
}

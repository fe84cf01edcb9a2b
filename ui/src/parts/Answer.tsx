/** What a view shows of an answer: loading, empty, failed, forbidden, or the answer. Five different pictures. */
import { IconLock, IconPlugConnectedX, IconRefresh } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem } from "@/api/client";
import { isGone } from "@/api/queries";
import { SmallAct } from "@/parts/Act";

const NOTHING_MS = 150;

interface Props<T> {
  of: UseQueryResult<T>;
  /** Shown in place of an answer that has nothing in it. */
  empty?: ReactNode;
  /** By default that is one without items. */
  isEmpty?: (answer: T) => boolean;
  /** How many lines the skeleton has. */
  lines?: number;
  /** Somebody types into what is shown: it stays when it is gone, below the words that say so. */
  isTyped?: boolean;
  children: (answer: T) => ReactNode;
}

/**
 * The answer of a query, or the picture of what it has in its place. Old answers stay while new ones are read, and when
 * they cannot be read; one that is gone does not stay.
 */
export function Answer<T>({ of, empty, isEmpty = hasNoItems, lines = 4, isTyped = false, children }: Props<T>) {
  const gone = isGone(of.error) ? of.error : null;
  if (of.data !== undefined && (gone === null || isTyped)) {
    if (empty !== undefined && isEmpty(of.data)) return <>{empty}</>;
    return (
      <>
        {gone && <Failure error={gone} />}
        {children(of.data)}
      </>
    );
  }
  if (of.error !== null) return <Failure error={of.error} again={() => void of.refetch()} />;
  return <Skeleton lines={lines} />;
}

function hasNoItems(answer: unknown): boolean {
  const { items = [] } = answer as { items?: readonly unknown[] };
  return items.length === 0;
}

/** Grey lines in the shape of what comes, after a moment in which nothing is shown. */
export function Skeleton({ lines }: { lines: number }) {
  const { t } = useTranslation("parts");
  const [isShown, setIsShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(true), NOTHING_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="skeleton" aria-busy="true" aria-label={t("loading")} role="status">
      {isShown &&
        Array.from({ length: lines }, (_, line) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines are alike
          <div key={line} className="skel" data-line={line % 4} />
        ))}
    </div>
  );
}

/** What went wrong, what to do, and the code to look it up by. */
export function Failure({ error, again }: { error: Error; again?: () => void }) {
  const { t } = useTranslation("parts");
  const problem = error instanceof ApiProblem ? error : null;
  if (problem?.status === 403) return <Forbidden detail={problem.message} code={problem.code} />;
  return (
    <div className="fact failed" role="alert">
      <IconPlugConnectedX size={20} stroke={1.5} aria-hidden />
      <div>
        <b>{problem?.status === 0 ? t("notReached") : t("notLoaded")}</b>
        <p>
          {error.message} {problem?.code && <code>[{problem.code}]</code>}
        </p>
        {problem?.requestId && <p className="mute">{t("requestId", { id: problem.requestId })}</p>}
        {again && <SmallAct leftSection={<IconRefresh size={14} />} onClick={again} word={t("again")} />}
      </div>
    </div>
  );
}

function Forbidden({ detail, code }: { detail: string; code: string }) {
  const { t } = useTranslation("parts");
  return (
    <div className="fact forbidden">
      <IconLock size={20} stroke={1.5} aria-hidden />
      <div>
        <b>{t("forbidden")}</b>
        <p>
          {detail} {code && <code>[{code}]</code>}
        </p>
        <p className="mute">{t("whoCanGive")}</p>
      </div>
    </div>
  );
}

/** An empty state: what would be here, the last known fact, one next step. */
export function Empty({ title, children }: { title: ReactNode; children?: ReactNode }) {
  return (
    <div className="fact">
      <div>
        <b>{title}</b>
        {children}
      </div>
    </div>
  );
}

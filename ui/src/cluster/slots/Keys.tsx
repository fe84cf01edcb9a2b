import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

const KINDS = ["start", "schedule", "backfill", "other"] as const;

/** What the dots mean. */
export function Keys({ children }: { children: ReactNode }) {
  const { t } = useTranslation("cluster");
  return (
    <div className="stage-legend">
      {KINDS.map((kind) => (
        <span key={kind}>
          <svg viewBox="0 0 14 12" aria-hidden="true">
            <circle cx="7" cy="6" r="4.5" className={`kind-${kind}`} />
          </svg>
          {t(`kind.${kind}`)}
        </span>
      ))}
      <span>
        <svg viewBox="0 0 14 12" aria-hidden="true">
          <circle cx="7" cy="6" r="3.8" className="kind-waits" />
        </svg>
        {t("waits")}
      </span>
      <span>
        <svg viewBox="0 0 14 12" aria-hidden="true">
          <path d="M7 .8 12.2 6 7 11.2 1.8 6Z" className="kind-refused" />
        </svg>
        {t("refused")}
      </span>
      <span>
        <svg viewBox="0 0 14 12" aria-hidden="true">
          <path d="M13 6C10 2.2 6 2.2 3.5 6 6 9.8 10 9.8 13 6ZM4.5 6 .8 3.2v5.6Z" className="kind-failover" />
        </svg>
        {t("failedOver")}
      </span>
      <div className="drill">{children}</div>
    </div>
  );
}

import { CloseButton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { dismiss, onNotices, shownNotices } from "./notices";

/** The messages about what buttons did, at the lower edge. */
export function Notices() {
  const { t } = useTranslation("parts");
  const notices = useSyncExternalStore(onNotices, shownNotices);
  return (
    <div className="notices" aria-live="polite">
      {notices.map((each) => (
        <div key={each.id} className="notice" data-failed={each.isFailure} role={each.isFailure ? "alert" : undefined}>
          <i className="st" data-s={each.isFailure ? "FAILURE" : "SUCCESS"} aria-hidden />
          <div className="grow">
            {each.text} {each.code !== "" && <code>[{each.code}]</code>}{" "}
            {each.runId !== null && (
              <Link to="/runs/$id" params={{ id: each.runId }} search={{}}>
                {t("openRun", { id: each.runId })}
              </Link>
            )}
          </div>
          <CloseButton size="sm" aria-label={t("close")} onClick={() => dismiss(each.id)} />
        </div>
      ))}
    </div>
  );
}

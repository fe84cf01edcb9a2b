import { CloseButton } from "@mantine/core";
import { useLocation } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { RunLink } from "@/parts/Links";
import { dismiss, notices } from "./notices";

/** The messages about what buttons did, at the lower edge. */
export function Notices() {
  const { t } = useTranslation("parts");
  const shown = notices.use();
  const { pathname } = useLocation();
  return (
    <div className="notices" aria-live="polite">
      {shown.map((each) => (
        <div key={each.id} className="notice" data-failed={each.isFailure} role={each.isFailure ? "alert" : undefined}>
          <i className="st" data-s={each.isFailure ? "FAILURE" : "SUCCESS"} aria-hidden />
          <div className="grow">
            {each.text} {each.code !== "" && <code>[{each.code}]</code>}{" "}
            {each.runId !== null && !pathname.endsWith(`/runs/${each.runId}`) && (
              <RunLink id={each.runId}>{t("openRun", { id: each.runId })}</RunLink>
            )}
          </div>
          <CloseButton size="sm" aria-label={t("close")} onClick={() => dismiss(each.id)} />
        </div>
      ))}
    </div>
  );
}

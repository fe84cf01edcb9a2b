import { UnstyledButton } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { RunLink } from "@/parts/Links";
import { Moment } from "@/parts/Time";
import { AlertDetail } from "./AlertDetail";
import { deliveryOf, severityOf, stateOf } from "./looks";
import { Marked } from "./Marked";
import type { Alert } from "./queries";

interface Props {
  alert: Alert;
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
  onSilence: () => void;
}

/** An alert: when, how bad, what happened and where, and each channel's result. Open, it says all that is known. */
export function AlertRow({ alert, isOpen, onOpen, onSilence }: Props) {
  const { t } = useTranslation("alerts");
  const Chevron = isOpen ? IconChevronDown : IconChevronRight;
  const whole = stateOf(alert);
  return (
    <li data-open={isOpen}>
      <div className="alert-line">
        <span className="of-severity">
          <Marked of={severityOf(alert.severity)} t={t} />
        </span>
        <div className="of-what">
          <UnstyledButton className="open-row" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)}>
            <Chevron size={14} stroke={1.5} aria-hidden />
            <span>{alert.subject}</span>
          </UnstyledButton>
          <p className="mute">
            <Where alert={alert} />
          </p>
        </div>
        <ul className="of-results" aria-label={t("results")}>
          {whole !== null && (
            <li>
              <Marked of={whole} t={t} title={alert.state_reason ?? undefined} />
            </li>
          )}
          {alert.deliveries.map((each) => (
            <li key={each.channel} title={each.error ?? undefined}>
              <i
                className="st"
                data-s={deliveryOf(each).look}
                role="img"
                aria-label={t(deliveryOf(each).word as never)}
                title={t(deliveryOf(each).word as never)}
              />
              {each.channel}
            </li>
          ))}
        </ul>
        <span className="of-when num">
          <Moment at={alert.created_at} />
        </span>
      </div>
      {isOpen && <AlertDetail alert={alert} onSilence={onSilence} />}
    </li>
  );
}

/** What it concerns, as links: a project's workflow and run, or the cluster. */
function Where({ alert }: { alert: Alert }) {
  const { t } = useTranslation("alerts");
  const { project, workflow, run_id } = alert;
  return (
    <>
      {t(`kind.${alert.kind}` as never, { defaultValue: alert.kind })}
      {" · "}
      {project == null ? (
        <Link to="/cluster">{t("cluster")}</Link>
      ) : workflow == null ? (
        project
      ) : (
        <Link to="/workflows/$project/$name" params={{ project, name: workflow }} search={{}}>
          {project}/{workflow}
        </Link>
      )}
      {run_id != null && (
        <>
          {" · "}
          <RunLink id={run_id}>{t("runNumber", { id: run_id })}</RunLink>
        </>
      )}
    </>
  );
}

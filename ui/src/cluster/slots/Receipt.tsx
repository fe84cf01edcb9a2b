import { IconArrowNarrowRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { duration } from "@/parts/time";
import { settings } from "../queries";
import type { Live } from "./feed";
import { useLateAfter } from "./late";
import { type Change, mastersAt, placeAt, type Story } from "./story";
import { clockTime } from "./words";

/** Of masters that went at once, such as at the end of `shoal up`. */
const SHOWN_MAX = 2;

interface Props {
  story: Story;
  ms: number;
  live: Live | undefined;
  /** The last change in which a master went; null = none did lately. */
  gone: Change | null | undefined;
  cost: Schemas["ReceiptAnswer"] | undefined;
}

/** One line: what the last death or leave cost, counted from the rows; or that all is well. */
export function Receipt({ story, ms, live, gone, cost }: Props) {
  const { t } = useTranslation("cluster");
  const fenceS = useQuery(settings).data?.timing?.master_fence_after;
  const lateS = useLateAfter();
  const late = live?.frame.slots.masters.find((each) => each.beat_age_s > lateS && each.in_registry);
  if (late !== undefined)
    return (
      <div className="receipt" role="status">
        <i className="st" data-s="BUSY" aria-hidden />
        <b>{late.name}</b>
        <span className="soft">
          {t("silent", { time: duration(late.beat_age_s), after: fenceS === undefined ? "?" : duration(fenceS) })}
        </span>
      </div>
    );
  if (gone == null) {
    const total = story.changes[placeAt(story.changes, ms)]?.members.length ?? 0;
    const waiting = mastersAt(story, ms).reduce((sum, each) => sum + each.waiting, 0);
    return (
      <div className="receipt" role="status">
        <i className="st" data-s="NORMAL" aria-hidden />
        <span className="soft">
          {t("mastersBeat", { count: total })}{" "}
          {waiting === 0 ? t("nothingWaits") : t("commandsWait", { count: waiting })}
        </span>
      </div>
    );
  }
  if (cost === undefined || cost.number !== gone.number)
    return (
      <div className="receipt" role="status">
        <i className="st" data-s="DEAD" aria-hidden />
        <b>{gone.changes.map((each) => each.name).join(", ")}</b>
        <span className="soft">{t("counting")}</span>
      </div>
    );
  return (
    <>
      {cost.masters.slice(0, SHOWN_MAX).map((master) => (
        <Cost key={master.epoch} master={master} />
      ))}
      {cost.masters.length > SHOWN_MAX && (
        <Link className="receipt" to="/cluster" search={{ tab: "failovers" }}>
          {t("more", { count: cost.masters.length - SHOWN_MAX })}
        </Link>
      )}
    </>
  );
}

/** What the end of one master cost. */
export function Cost({ master }: { master: Schemas["GoneMasterAnswer"] }) {
  const { t, i18n } = useTranslation("cluster");
  const at = (moment: string) => clockTime(Date.parse(moment), i18n.language, true, true);
  const steps: { at: string; word: string; isStrong?: boolean }[] = [
    ...(master.last_beat_at ? [{ at: master.last_beat_at, word: t("lastBeat") }] : []),
    ...(master.fenced_at ? [{ at: master.fenced_at, word: t(master.reason === "LEFT" ? "left" : "fenced") }] : []),
    ...(master.failed_over_at
      ? [{ at: master.failed_over_at, word: t("runsFailedOver", { count: master.runs }), isStrong: true }]
      : []),
  ];
  return (
    <div className="receipt" role="status">
      <i className="st" data-s={master.reason === "LEFT" ? "STOP" : "DEAD"} aria-hidden />
      <b>{master.name}</b>
      {steps.map((step, place) => (
        <Fragment key={step.word}>
          {place > 0 && <IconArrowNarrowRight size={14} stroke={1.5} aria-hidden className="mute" />}
          <span className="step">
            <time dateTime={step.at}>{at(step.at)}</time> {step.isStrong ? <b>{step.word}</b> : step.word}
          </span>
        </Fragment>
      ))}
      {master.by.length > 0 && (
        <span className="mute">{master.by.map((each) => `${each.name} ${each.runs}`).join(" · ")}</span>
      )}
      {!master.failed_over_at && (
        <span className="soft">{t(master.waiting > 0 ? "handOn" : "noRuns", { count: master.waiting })}</span>
      )}
      <span className="proof" title={master.is_complete ? t("howCounted") : t("notAllCounted")}>
        <span className="verdict" data-s={master.lost === 0 ? "SUCCESS" : "FAILURE"}>
          {t("lostCount", { count: master.lost })}
        </span>
        <span className="verdict" data-s={master.doubled === 0 ? "SUCCESS" : "FAILURE"}>
          {t("doubledCount", { count: master.doubled })}
        </span>
      </span>
    </div>
  );
}

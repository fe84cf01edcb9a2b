import { Button, SegmentedControl } from "@mantine/core";
import { IconPlayerPauseFilled, IconPlayerPlayFilled, IconTable } from "@tabler/icons-react";
import { memo, useState } from "react";
import { useTranslation } from "react-i18next";
import { SmallAct } from "@/parts/Act";
import { SPANS, type Span, useClusterSearch } from "../search";
import { Scrubber } from "./Scrubber";
import { placeAt, type Story } from "./story";
import { clockTime } from "./words";

const SPEEDS = ["1", "4", "30"];
/** A replay begins so long before what it is about. */
const LEAD_MS = 4_000;

interface Props {
  story: Story;
  shownMs: number;
  nowMs: number;
  isLive: boolean;
  /** Of the replay that runs; null = none does. */
  speed: number | null;
  /** Show a moment; null = the present. */
  onShow: (ms: number | null) => void;
  onPlay: (fromMs: number, speed: number) => void;
}

/** The facts of the shown moment, and how to get to another one. */
export function StageBar({ story, shownMs, nowMs, isLive, speed, onShow, onPlay }: Props) {
  const { t, i18n } = useTranslation("cluster");
  const [search, change] = useClusterSearch();
  const [chosen, setChosen] = useState("1");
  const now = story.changes[placeAt(story.changes, shownMs)];
  const last = story.changes.findLast((each) => each.changes.some(({ reason }) => reason !== "JOINED")) ?? now;
  const play = () => {
    if (speed !== null) onShow(shownMs);
    else onPlay(isLive ? (last?.atMs ?? shownMs) - LEAD_MS : shownMs, Number(chosen));
  };
  return (
    <div className="stagebar">
      <div className="facts">
        <span>
          {t("slots")} <b>{now?.members.length ?? 0}</b>
        </span>
        <span>
          {t("change")} <b>{now?.number ?? "–"}</b>
        </span>
      </div>
      <Scrubber story={story} shownMs={shownMs} nowMs={nowMs} isLive={isLive} onShow={onShow} />
      <SpanChoice />
      <span className="moment mono" data-live={isLive || undefined} title={t(isLive ? "isLive" : "isReplay")}>
        {isLive ? t("live") : clockTime(shownMs, i18n.language)}
      </span>
      <Button.Group>
        <SmallAct
          onClick={play}
          leftSection={
            speed === null ? (
              <IconPlayerPlayFilled size={12} aria-hidden />
            ) : (
              <IconPlayerPauseFilled size={12} aria-hidden />
            )
          }
          word={t(speed === null ? (isLive ? "replay" : "play") : "pause")}
        />
        {SPEEDS.map((each) => (
          <Button
            key={each}
            variant="default"
            size="xs"
            px={8}
            aria-pressed={chosen === each}
            className="speed"
            onClick={() => {
              setChosen(each);
              if (speed !== null) onPlay(shownMs, Number(each));
            }}
          >
            {each}×
          </Button>
        ))}
      </Button.Group>
      {!isLive && <SmallAct onClick={() => onShow(null)} word={t("backToLive")} />}
      <Button
        variant="default"
        size="xs"
        px={8}
        aria-pressed={search.view === "table"}
        aria-label={t("asTable")}
        title={t("asTable")}
        className="speed"
        onClick={() => change({ view: search.view === "table" ? undefined : "table" })}
      >
        <IconTable size={14} stroke={1.5} aria-hidden />
      </Button>
    </div>
  );
}

/** How much time the line spans. By itself, so that it is not drawn again with each tick. */
const SpanChoice = memo(function SpanChoice() {
  const { t } = useTranslation("cluster");
  const [search, change] = useClusterSearch();
  return (
    <SegmentedControl
      size="xs"
      aria-label={t("span")}
      data={Object.keys(SPANS).map((each) => ({ value: each, label: t(`span.${each}`) }))}
      value={search.span ?? "15m"}
      onChange={(span) => change({ span: span as Span })}
    />
  );
});

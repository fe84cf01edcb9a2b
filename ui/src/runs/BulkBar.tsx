import { Button } from "@mantine/core";
import {
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerStop,
  IconRefresh,
  IconRotateClockwise,
  type TablerIcon,
} from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { count } from "@/parts/time";
import { ACTIONS, type Action } from "./selection";

const ICONS: Record<Action, TablerIcon> = {
  RERUN_FAILED: IconRotateClockwise,
  RERUN: IconRefresh,
  STOP: IconPlayerStop,
  PAUSE: IconPlayerPause,
  RESUME: IconPlayerPlay,
};

interface Props {
  /** So many rows are selected; null = all that match. */
  selected: number | null;
  /** How many match in all, in words. */
  number: string | null;
  /** Why the one who looks may not do it; empty = may. */
  forbidden: string;
  onAll: () => void;
  onNone: () => void;
  onAct: (action: Action) => void;
}

/** What can be done with the selected runs. Each button first says what it would do. */
export function BulkBar({ selected, number, forbidden, onAll, onNone, onAct }: Props) {
  const { t } = useTranslation("runs");
  return (
    <div className="bulk" role="toolbar" aria-label={t("bulk")}>
      <b aria-live="polite">
        {selected === null ? t("allSelected", { number }) : t("selected", { number: count(selected) })}
      </b>
      {selected !== null && number !== null && (
        <Act size="compact-xs" variant="subtle" onClick={onAll} word={t("selectAll", { number })} />
      )}
      <Act size="compact-xs" variant="subtle" onClick={onNone} word={t("selectNone")} />
      <span className="line wrap">
        {ACTIONS.map((action, place) => {
          const Icon = ICONS[action];
          return (
            <Button
              key={action}
              size="compact-sm"
              variant={place === 0 ? "filled" : "default"}
              leftSection={<Icon size={14} stroke={1.5} />}
              disabled={forbidden !== ""}
              title={forbidden}
              onClick={() => onAct(action)}
            >
              {t(`act.${action}`)}
            </Button>
          );
        })}
      </span>
      {forbidden !== "" && <span className="mute">{forbidden}</span>}
    </div>
  );
}

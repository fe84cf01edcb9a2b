import { IconPlugConnectedX } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { useLiveState } from "@/live/eventSource";
import { useIsSessionOver } from "@/login/session";
import { moment } from "@/parts/time";

/** Shown while live updates do not come: what is on the page stays, with the time of its last news. */
export function Stale() {
  const { t, i18n } = useTranslation("app");
  const state = useLiveState();
  const isOver = useIsSessionOver();
  if (state.isLive && !isOver) return null;
  return (
    <div className="stale" role="status">
      <IconPlugConnectedX size={14} stroke={1.5} aria-hidden />
      {t(isOver ? "sessionOver" : "stale", { at: moment(new Date(state.at), i18n.language) })}
    </div>
  );
}

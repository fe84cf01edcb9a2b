/** The next fire times on a line of one hour. */
import type { Schemas } from "@/api/client";

const HOUR_MS = 3_600_000;
/** Labels nearer to each other than this share of the line would cover each other. */
const LABEL_SHARE = 0.16;

export interface Mark {
  key: string;
  /** Where on the line, from 0 to 1. */
  share: number;
  /** Left out where there is no room. */
  label: string;
}

/** The fires within an hour of `now`, as marks. */
export function marksOf(fires: Schemas["FireTime"][], now: number): Mark[] {
  let labelled = Number.NEGATIVE_INFINITY;
  return fires
    .map((fire) => ({ fire, share: (Date.parse(fire.utc) - now) / HOUR_MS }))
    .filter(({ share }) => share >= 0 && share <= 1)
    .map(({ fire, share }) => {
      const hasRoom = share - labelled >= LABEL_SHARE;
      if (hasRoom) labelled = share;
      return { key: `${fire.schedule_id} ${fire.utc}`, share, label: hasRoom ? (fire.workflow ?? "") : "" };
    });
}

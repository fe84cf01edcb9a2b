import { useTranslation } from "react-i18next";
import { duration } from "@/parts/time";
import type { Live } from "./feed";
import { placeAt, type Story } from "./story";

const SHOWN_MAX = 6;

/** What each master believes about the slots, what the list of members says, and why a difference is safe. */
export function Agreement({ story, ms, live }: { story: Story; ms: number; live: Live | undefined }) {
  const { t } = useTranslation("cluster");
  const now = story.changes[placeAt(story.changes, ms)];
  if (now === undefined) return null;
  const truth = (
    <div>
      <dt>{t("listSays")}</dt>
      <dd>
        <b>{t("slotsCount", { count: live?.frame.slots.total ?? now.members.length })}</b>{" "}
        <span className="mute">{t("changeNumber", { number: now.number })}</span>
      </dd>
    </div>
  );
  if (live === undefined)
    return (
      <div className="agree">
        <dl>{truth}</dl>
        <div className="say">{t("beliefsNotKept")}</div>
      </div>
    );
  const { masters } = live.frame.slots;
  const differing = masters.filter((each) => !each.agrees);
  const shown = [...differing, ...masters.filter((each) => each.agrees)]
    .slice(0, SHOWN_MAX)
    .sort((one, other) => (BigInt(one.epoch) < BigInt(other.epoch) ? -1 : 1));
  const sinceMs = Date.parse(live.frame.now) - now.atMs;
  const first = differing[0];
  return (
    <div className="agree">
      <dl>
        {truth}
        {shown.map((master) => (
          <div key={master.epoch} data-off={!master.agrees || undefined}>
            <dt>{t("believes", { name: master.name })}</dt>
            <dd>
              <i className="st" data-s={master.agrees ? "SUCCESS" : "LATE"} aria-hidden />{" "}
              <b>{beliefWords(master.believes, t("noSlot"), t)}</b>{" "}
              {!master.agrees && (
                <span className="mute">{t("forSome", { time: duration(Math.max(0, sinceMs / 1000)) })}</span>
              )}
            </dd>
          </div>
        ))}
        {masters.length > shown.length && (
          <div>
            <dt>{t("others")}</dt>
            <dd>
              <i className="st" data-s="SUCCESS" aria-hidden />{" "}
              {t("agreeCount", { count: masters.length - shown.length })}
            </dd>
          </div>
        )}
      </dl>
      <div className="say">
        {first === undefined
          ? t("allAgree")
          : t("oneDiffers", { name: first.name, belief: beliefWords(first.believes, t("noSlot"), t) })}
        {live.frame.slots.registry_fault && ` ${live.frame.slots.registry_fault}`}
      </div>
    </div>
  );
}

function beliefWords(
  belief: string | null | undefined,
  none: string,
  t: (key: "slotShort", values: { slot: string; total: string }) => string,
): string {
  const [slot, total] = belief?.split("/") ?? [];
  return slot === undefined || total === undefined ? none : t("slotShort", { slot, total });
}

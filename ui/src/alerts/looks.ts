/** How alerts, deliveries and silences look: a look of parts/tokens.css, and the word under which `alerts` has it. */
import type { Alert, Delivery, Silence } from "./queries";

export interface Look {
  look: string;
  word: string;
}

const SEVERITIES: Record<string, string> = { INFO: "NORMAL", WARNING: "LATE", CRITICAL: "FAILURE" };

/** How bad it is. */
export function severityOf(severity: string): Look {
  return { look: SEVERITIES[severity] ?? "NOT_BEGUN", word: `severity.${severity}` };
}

/** What became of an alert on a channel. */
export function deliveryOf({ state, tries }: Pick<Delivery, "state" | "tries">): Look {
  switch (state) {
    case "SENT":
      return { look: "SUCCESS", word: "delivery.SENT" };
    case "GROUPED":
      return { look: "SUCCESS", word: "delivery.GROUPED" };
    case "FAILED":
      return { look: "FAILURE", word: "delivery.FAILED" };
    case "SILENCED":
      return { look: "SKIPPED", word: "delivery.SILENCED" };
    default:
      return tries > 0
        ? { look: "DELAY_EXECUTION", word: "delivery.AGAIN" }
        : { look: "QUEUED", word: "delivery.WAIT" };
  }
}

/** What became of an alert as a whole, where no channel says it. */
export function stateOf({ state }: Pick<Alert, "state">): Look | null {
  if (state === "NOBODY") return { look: "REFUSED", word: "state.NOBODY" };
  if (state === "SILENCED") return { look: "SKIPPED", word: "state.SILENCED" };
  if (state === "WAIT") return { look: "QUEUED", word: "state.WAIT" };
  return null;
}

/** Whether it can be sent again: somebody did not get it, and nothing tries now. A test is sent once. */
export function hasFailed(alert: Pick<Alert, "kind" | "state" | "deliveries">): boolean {
  if (alert.kind === "TEST") return false;
  return alert.state === "NOBODY" || alert.deliveries.some((each) => each.state === "FAILED");
}

export type When = "now" | "future" | "past";

/** Whether a silence is, will be, or was. */
export function whenOf(silence: Pick<Silence, "starts_at" | "ends_at">, nowMs: number): When {
  if (Date.parse(silence.ends_at) <= nowMs) return "past";
  return Date.parse(silence.starts_at) > nowMs ? "future" : "now";
}

const ORDER: readonly When[] = ["now", "future", "past"];

/** Those that are, that will be, that were: each the next to change first, and what is over the latest first. */
export function inOrder<T extends Pick<Silence, "starts_at" | "ends_at">>(silences: readonly T[], nowMs: number): T[] {
  const rank = (each: T) => ORDER.indexOf(whenOf(each, nowMs));
  const next = (each: T) => {
    const when = whenOf(each, nowMs);
    return when === "future" ? Date.parse(each.starts_at) : Date.parse(each.ends_at) * (when === "past" ? -1 : 1);
  };
  return [...silences].sort((one, other) => rank(one) - rank(other) || next(one) - next(other));
}

export const WHEN_LOOKS: Record<When, string> = { now: "PAUSE", future: "NOT_BEGUN", past: "SKIPPED" };

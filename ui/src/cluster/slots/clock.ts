/** The time that the picture shows: that of the database a moment ago, or any earlier one, still or passing. */

/** The picture is so much behind, so that what happened is known when it is drawn. */
export const LAG_MS = 1_600;

export type Clock =
  | { kind: "live"; offsetMs: number }
  | { kind: "still"; atMs: number }
  | { kind: "replay"; fromMs: number; since: number; speed: number };

/** The shown time in milliseconds since 1970; `now` is that of `performance.now()`. */
export function timeOf(clock: Clock, now: number): number {
  switch (clock.kind) {
    case "live":
      return now + clock.offsetMs - LAG_MS;
    case "still":
      return clock.atMs;
    case "replay":
      return clock.fromMs + (now - clock.since) * clock.speed;
  }
}

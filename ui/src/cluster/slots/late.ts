import { useQuery } from "@tanstack/react-query";
import { settings } from "../queries";

/** So many beats that did not come are no accident; the doctor says the same. */
const BEATS_MISSED = 3;

/** After how many seconds a beat is late, by the time between beats that all nodes keep; without it none is. */
export function lateAfter(timing: Readonly<Record<string, number>> | null | undefined): number {
  return (timing?.heartbeat_every ?? Number.POSITIVE_INFINITY) * BEATS_MISSED;
}

/** `lateAfter` of this cluster. */
export function useLateAfter(): number {
  return lateAfter(useQuery(settings).data?.timing);
}

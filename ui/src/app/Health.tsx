import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { slots } from "@/cluster/queries";

/**
 * Whether masters live and agree: the look, the word under which `app` has it, and what is wrong in a sentence. Before it
 * is known that is the likely one, which keeps its place and is not shown.
 */
export function useHealth(): { state: string; word: string; because: string; isKnown?: false } {
  const found = useQuery(slots);
  if (found.data === undefined)
    return found.error === null
      ? { state: "NORMAL", word: "allGood", because: "", isKnown: false }
      : { state: "NOT_BEGUN", word: "healthUnknown", because: found.error.message };
  if (found.data.total === 0) {
    const word = found.data.masters.length === 0 ? "noMaster" : "noMasterTakes";
    return { state: "DEAD", word, because: found.data.registry_fault ?? "" };
  }
  const busy = found.data.masters.find((each) => each.status === "BUSY");
  const because = found.data.registry_fault ?? (busy && `${busy.name}: ${busy.because ?? "BUSY"}`);
  return because ? { state: "BUSY", word: "healthBusy", because } : { state: "NORMAL", word: "allGood", because: "" };
}

/** A dot and a word: whether masters live and agree. Leads to the page that says what is wrong. */
export function Health() {
  const { t } = useTranslation("app");
  const { state, word, because, isKnown } = useHealth();
  return (
    <Link to="/cluster" className="pick health" data-known={isKnown} aria-label={t(word)} title={because}>
      <i className="st" data-s={state} aria-hidden />
      <span className="wide">{t(word)}</span>
    </Link>
  );
}

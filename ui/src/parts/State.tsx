import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

/** A state by word, colour and shape. `state` is the database's name of it. */
export function State({ state }: { state: string }) {
  const { t } = useTranslation("parts");
  return <Look of={styleOf(state)} word={t(`state.${state}`, { defaultValue: state })} />;
}

/** A word with a look of tokens.css. */
export function Look({ of, word, title }: { of: string; word: ReactNode; title?: string | undefined }) {
  return (
    <span className="state" data-s={of} title={title}>
      {word}
    </span>
  );
}

/** A state by shape and colour alone, where the word would not fit; screen readers and the pointer get the word. */
export function Mark({ state }: { state: string }) {
  const { t } = useTranslation("parts");
  const word = t(`state.${state}`, { defaultValue: state });
  return <i className="st" data-s={styleOf(state)} role="img" aria-label={word} title={word} />;
}

const ALIKE: Record<string, string> = {
  ALIVE: "NORMAL",
  LEAVING: "READY_STOP",
  DRAINING: "READY_PAUSE",
  LEFT: "STOP",
  FENCED: "DEAD",
  LOST: "DEAD",
  WAITING: "NOT_BEGUN",
  LEFT_OUT: "NOT_BEGUN",
  FORBIDDEN: "SKIPPED",
  FREE: "NORMAL",
  TAKEN: "DISPATCH",
  SET_ASIDE: "REFUSED",
  CHECKING: "DELAY_EXECUTION",
  REMOVED: "SKIPPED",
  ASKS: "WAIT_TO_RUN",
};

/** The name under which tokens.css has the look of a state. */
export function styleOf(state: string): string {
  return ALIKE[state] ?? state;
}

import { shared } from "@/parts/shared";

export interface Asked {
  code: string;
  name: string;
  /** Another version than the newest. */
  version?: number;
  /** The values with which the fields begin; those of the workflow otherwise. */
  values?: Record<string, string>;
  /** Whether the page stays where it is, not at the new run. */
  stays?: boolean;
}

const asked = shared<readonly Asked[]>([]);

/** The workflows that are to be started, of which the first one is asked about. */
export const useAsked = asked.use;

/** Ask with what these are started, one after the other. */
export function askToRun(...workflows: Asked[]): void {
  asked.set(workflows);
}

export function askNoMore(): void {
  asked.set([]);
}

/** The first one is started: ask about the next. */
export function askNext(): void {
  asked.set(asked.now().slice(1));
}

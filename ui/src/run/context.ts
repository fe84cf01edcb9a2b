/** What the parts of a run's page share: the run, its tasks, what is chosen, and how to change them. */
import { createContext, useContext } from "react";
import type { Change, WhyNot } from "./header/changes";
import type { TaskView } from "./model";
import type { RunPage } from "./queries";
import type { RunSearch } from "./search";

export interface RunContext {
  run: RunPage;
  tasks: TaskView[];
  /** The chosen task, or else the one that a reader most likely came for. */
  focus: TaskView | null;
  search: RunSearch;
  go: (change: Partial<RunSearch>) => void;
  whyNot: WhyNot;
  change: (change: Change) => void;
  /** Whether a change was asked for and is not answered yet. */
  isChanging: boolean;
  /** Open the menu of a task at this place of the window. */
  openMenu: (name: string, x: number, y: number) => void;
  /** The name of a master or worker by its id; its address if it is gone. */
  nodeName: (id: string | null | undefined, address: string | null | undefined) => string;
}

const Context = createContext<RunContext | null>(null);
export const RunProvider = Context.Provider;

export function useRun(): RunContext {
  const found = useContext(Context);
  if (found === null) throw new Error("there is no run here");
  return found;
}

/** Short messages about what a button did: anything may say one, the frame shows them. */
import type { ReactNode } from "react";
import { ApiProblem } from "@/api/client";
import { shared } from "./shared";

export interface Notice {
  id: number;
  isFailure: boolean;
  text: ReactNode;
  /** The code of a problem, to look it up by. */
  code: string;
  /** A page of what the message is about. */
  runId: string | null;
}

const SHOWN_MS = 8_000;
const SHOWN_MAX = 4;

let last = 0;

/** The messages that are shown now, oldest first. */
export const notices = shared<readonly Notice[]>([]);

/** Say what happened, for a few seconds. */
export function say(text: ReactNode, runId: string | null = null): void {
  const id = show({ isFailure: false, text, code: "", runId });
  setTimeout(() => dismiss(id), SHOWN_MS);
}

/** Say what could not be done, until somebody closes it. */
export function sayFailure(error: Error): void {
  show({ isFailure: true, text: error.message, code: error instanceof ApiProblem ? error.code : "", runId: null });
}

/** Say what was done in part only, until somebody closes it. */
export function sayIncomplete(text: ReactNode): void {
  show({ isFailure: true, text, code: "", runId: null });
}

export function dismiss(id: number): void {
  notices.set(notices.now().filter((each) => each.id !== id));
}

function show(notice: Omit<Notice, "id">): number {
  last += 1;
  notices.set([...notices.now(), { ...notice, id: last }].slice(-SHOWN_MAX));
  return last;
}

import type { ErrorComponentProps } from "@tanstack/react-router";
import { Failure } from "@/parts/Answer";

/** A page that broke, or whose code could not be loaded: the rest of the frame stays. */
export function PageFailure({ error, reset }: ErrorComponentProps) {
  const shown = error instanceof Error ? error : new Error(String(error));
  return (
    <div className="page">
      <Failure error={shown} again={() => (isOldBuild(shown) ? location.reload() : reset())} />
    </div>
  );
}

/** A page of a build that was replaced while the tab was open. */
function isOldBuild(error: Error): boolean {
  return /dynamically imported module|module script/i.test(error.message);
}

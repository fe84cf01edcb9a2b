import { lazy, Suspense } from "react";
import type { Props } from "./RunForm";

const RunForm = lazy(async () => ({ default: (await import("./RunForm")).RunForm }));

/** Asks with what a workflow is started, starts it, and shows the run. */
export function RunDialog(props: Props) {
  return (
    <Suspense fallback={null}>
      <RunForm {...props} />
    </Suspense>
  );
}

import { lazy, Suspense } from "react";
import { useAsked } from "./asking";

const RunForm = lazy(async () => ({ default: (await import("./RunForm")).RunForm }));

/** Asks with what a workflow is started, starts it, and shows the run. In the frame: who asks for it may be gone. */
export function RunDialog() {
  const [first] = useAsked();
  if (first === undefined) return null;
  return (
    <Suspense fallback={null}>
      <RunForm key={first.code} {...first} />
    </Suspense>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { api } from "@/api/client";
import { type Problem, problemsOf } from "./model/problems";
import type { Graph } from "./model/read";

const AFTER_MS = 350;

/** What the server says of a text, a moment after it was last changed; the old answer stays until then. */
export function useCheck(text: string, graph: Graph | null, isWanted: boolean) {
  const [asked, setAsked] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useQuery({
    queryKey: ["check", asked],
    queryFn: ({ signal }) =>
      api.POST("/api/v1/workflow-definitions:validate", {
        body: { files: [{ name: "draft", content: asked }] },
        signal,
      }),
    enabled: isWanted && asked.trim() !== "",
    placeholderData: (before) => before,
    gcTime: 10_000,
  });
  const problems: Problem[] = useMemo(
    () => (found.data === undefined ? [] : problemsOf(graph, found.data.problems, found.data.warnings)),
    [found.data, graph],
  );
  return { problems, error: found.error, isChecked: found.data !== undefined && asked === text && !found.isFetching };
}

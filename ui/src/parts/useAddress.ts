import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

/** Changes words of the address in place, without a step in the browser's history; "" or undefined takes one away. */
export function useAddress<Words extends object>(): (part: Words) => void {
  const navigate = useNavigate();
  return useCallback(
    (part) => {
      const given = Object.entries(part).map(([word, value]) => [word, value === "" ? undefined : value]);
      const search = (before: Record<string, unknown>) => ({ ...before, ...Object.fromEntries(given) });
      void navigate({ to: ".", search, replace: true, resetScroll: false });
    },
    [navigate],
  );
}

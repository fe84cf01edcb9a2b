/** What the one who is logged in may do: the API decides, the page only says it before a button is pressed. */
import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { mayAs } from "./roles";
import { me } from "./session";

/** `mayAs` for the one who is logged in; undefined until it is known. */
export function useHasRole(project: string | null, role: Schemas["Role"]): boolean | undefined {
  const who = useQuery(me);
  return who.data === undefined ? undefined : mayAs(who.data, role, project);
}

/** `useHasRole`, and true until it is known. */
export function useMay(role: Schemas["Role"], project: string | null): boolean {
  return useHasRole(project, role) ?? true;
}

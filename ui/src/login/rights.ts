/** What the one who is logged in may do: said at a button before it is pressed. The API decides. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { me } from "./session";

export type Needed = Schemas["Role"] | "ADMIN";
type Who = Pick<Schemas["Me"], "is_admin" | "roles" | "projects">;

/** Each role has the rights of those before it. */
const ROLES: readonly Needed[] = ["VIEWER", "OPERATOR", "EDITOR", "OWNER"];

/** Whether somebody has at least this role in a project; null = in any project. */
export function may(who: Who, needed: Needed, project: string | null): boolean {
  // A token may be for some projects only, whatever the account may do.
  if (project !== null && who.projects != null && !who.projects.includes(project)) return false;
  if (who.is_admin) return true;
  if (needed === "ADMIN") return false;
  const has = project === null ? Object.values(who.roles) : [who.roles[project]];
  return has.some((each) => each !== undefined && ROLES.indexOf(each) >= ROLES.indexOf(needed));
}

/** `may` for the one who is logged in, and true until it is known. */
export function useMay(needed: Needed, project: string | null): boolean {
  const who = useQuery(me);
  return who.data === undefined || may(who.data, needed, project);
}

/** A sentence with the role that is missing and who can give it; null = allowed. */
export function useWhyNot(needed: Needed, project: string | null = null): string | null {
  const { t } = useTranslation("forms");
  if (useMay(needed, project)) return null;
  if (needed === "ADMIN") return t("needsAdmin");
  const role = t(`role.${needed}`);
  return project === null ? t("needsRole", { role }) : t("needsRoleIn", { role, project });
}

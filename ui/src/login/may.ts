/** Why who is logged in may not do something: said at the button before it is pressed. The API decides. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { type Me, me } from "./session";

export type Needed = Me["roles"][string] | "ADMIN";
const ORDER: Needed[] = ["VIEWER", "OPERATOR", "EDITOR", "OWNER"];

/** Whether somebody has this role in a project, or a higher one; without a project, in any. */
export function may(who: Me, needed: Needed, project: string | null): boolean {
  if (project !== null && who.projects != null && !who.projects.includes(project)) return false;
  if (who.is_admin) return true;
  if (needed === "ADMIN") return false;
  const roles = project === null ? Object.values(who.roles) : [who.roles[project]];
  return roles.some((role) => role !== undefined && ORDER.indexOf(role) >= ORDER.indexOf(needed));
}

/** A sentence with the role that is missing and who can give it; null = allowed. */
export function useWhyNot(needed: Needed, project: string | null = null): string | null {
  const { t } = useTranslation("forms");
  const who = useQuery(me);
  if (who.data === undefined || may(who.data, needed, project)) return null;
  if (needed === "ADMIN") return t("needsAdmin");
  const role = t(`role.${needed}`);
  return project === null ? t("needsRole", { role }) : t("needsRoleIn", { role, project });
}

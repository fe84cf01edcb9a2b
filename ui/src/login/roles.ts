/** What a role allows. Pure. */
import type { Schemas } from "@/api/client";

type Role = Schemas["Role"];
type Who = Pick<Schemas["Me"], "is_admin" | "roles" | "projects">;

/** Each role has the rights of those before it. */
const ROLES: readonly Role[] = ["VIEWER", "OPERATOR", "EDITOR", "OWNER"];

/** Whether somebody has at least this role in a project; null = in any project. */
export function mayAs(who: Who, role: Role, project: string | null): boolean {
  // A token may be for some projects only, whatever the account may do.
  if (project !== null && who.projects && !who.projects.includes(project)) return false;
  if (who.is_admin) return true;
  const has = project === null ? Object.values(who.roles) : [who.roles[project]];
  return has.some((each) => each !== undefined && ROLES.indexOf(each) >= ROLES.indexOf(role));
}

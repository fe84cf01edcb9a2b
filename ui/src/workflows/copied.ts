/** A workflow's text under another name or in another project. */
import { isMap, isSeq, parseDocument } from "yaml";

/** The same, with schedules that do not fire: those of the first one do. */
export function copied(yaml: string, project: string, name: string): string {
  const document = parseDocument(yaml);
  document.set("name", name);
  if (project === "default") document.delete("project");
  else document.set("project", project);
  const schedules = document.get("schedules");
  for (const each of isSeq(schedules) ? schedules.items : []) if (isMap(each)) each.set("state", "OFFLINE");
  return document.toString();
}

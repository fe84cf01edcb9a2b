/** Rules to start from: one of each form that docs/guides/alerts.md explains. */
export const EXAMPLES = [
  "any run of this project fails -> group default",
  "any run of NAME fails twice in a row -> group default",
  "late: NAME not ended by 06:00 Europe/Berlin -> group default",
  "any run of NAME takes longer than 30 minutes -> group default",
  "any run of NAME recovers -> group default",
  "any run of NAME succeeds -> group default",
] as const;

/** An example with a name of the project in it, quoted where the words around it could not be told from it. */
export function exampleFor(example: string, workflow: string | undefined): string {
  if (workflow === undefined) return example;
  return example.replace("NAME", /^[\w.-]+$/.test(workflow) ? workflow : `"${workflow}"`);
}

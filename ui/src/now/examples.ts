/** Lines to copy on the first screen. */
export const YAML = `name: first
tasks:
  - {name: one, type: FAKE}
  - {name: two, type: FAKE, after: [one]}
  - {name: three, type: FAKE, after: [two]}
`;

/** Python that starts the sample, or without it the workflow of \`YAML\`. */
export function python(hasSample: boolean): string {
  return hasSample
    ? `from subprocess import run

for name in ("Ada", "Grace"):
    run(["shoal", "run", "hello",
         "--param", f"name={name}"])
`
    : `from subprocess import run

# after "first" was saved
for _ in range(2):
    run(["shoal", "run", "first"])
`;
}

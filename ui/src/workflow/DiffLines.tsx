/** The lines of a unified diff, as the server gives them; a sign says what colour says. */
export function DiffLines({ lines, label }: { lines: readonly string[]; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section className="diff" aria-label={label} tabIndex={0}>
      {lines
        .filter((line) => !line.startsWith("---") && !line.startsWith("+++"))
        .map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
          <div key={at} data-kind={kindOf(line)}>
            {line.startsWith("@@") ? "···" : line}
          </div>
        ))}
    </section>
  );
}

function kindOf(line: string): string | undefined {
  if (line.startsWith("@@")) return "gap";
  return line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : undefined;
}

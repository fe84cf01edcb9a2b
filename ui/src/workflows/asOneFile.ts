/** Texts of workflows as the documents of one file. Directives of a text (`%YAML`) need the end of the one before. Pure. */
export function asOneFile(texts: readonly string[]): string {
  return texts
    .map((text, place) => {
      const start = place === 0 ? "" : text.startsWith("%") ? "...\n" : "---\n";
      return `${start}${text}${text.endsWith("\n") ? "" : "\n"}`;
    })
    .join("");
}

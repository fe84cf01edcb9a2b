// A command ends where a sentence does, or before the gap to the next hint; a name in it may have a dot.
const COMMAND = /(`[^`]+`|shoal [a-z](?:[^.;,\s]|[.;,](?=\S)| (?! ))*)/;
const GAP = / {2,}/g;

/** The parts of a sentence: words and commands of the command line, in turns, words first. */
export function partsOf(text: string): string[] {
  return text
    .split(COMMAND)
    .map((part, place) => (place % 2 === 1 ? part.replaceAll("`", "") : part.replace(GAP, " · ")));
}

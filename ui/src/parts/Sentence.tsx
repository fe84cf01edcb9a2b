import { partsOf } from "./commands";

/** A sentence in which commands of the command line stand out. */
export function Sentence({ text }: { text: string }) {
  return partsOf(text).map((part, place) =>
    place % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place in the sentence
      <code key={place}>{part}</code>
    ) : (
      part
    ),
  );
}

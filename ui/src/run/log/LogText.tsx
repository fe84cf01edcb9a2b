import Anser from "anser";
import { memo } from "react";

interface Part {
  text: string;
  look: string;
}

/** The parts of a line that look alike, by its marks of colours. */
export function partsOf(text: string): Part[] {
  if (!text.includes("\u001b")) return [{ text, look: "" }];
  return Anser.ansiToJson(text, { use_classes: true, remove_empty: true }).map((part) => ({
    text: part.content,
    look: [part.fg, part.bg && `on-${part.bg}`, ...part.decorations.map((each) => `ansi-${each}`)]
      .filter(Boolean)
      .join(" "),
  }));
}

interface Props {
  text: string;
  from: number;
  /** How many characters are shown. */
  length: number;
  sought: string | undefined;
}

/** The text of a row of a log, in its colours, with what is looked for marked. */
export const LogText = memo(function LogText({ text, from, length, sought }: Props) {
  let passed = 0;
  const shown: Part[] = [];
  for (const part of partsOf(text)) {
    const begin = Math.max(0, from - passed);
    const piece = part.text.slice(begin, Math.max(0, from + length - passed));
    passed += part.text.length;
    if (piece !== "" && passed > from) shown.push({ ...part, text: piece });
  }
  return (
    <span className="log-text">
      {shown.map((part, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place in the line
        <span key={place} className={part.look || undefined}>
          <Marked text={part.text} sought={sought} />
        </span>
      ))}
    </span>
  );
});

function Marked({ text, sought }: { text: string; sought: string | undefined }) {
  if (sought === undefined) return text;
  const at = text.toLowerCase().indexOf(sought.toLowerCase());
  if (at < 0) return text;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + sought.length)}</mark>
      <Marked text={text.slice(at + sought.length)} sought={sought} />
    </>
  );
}

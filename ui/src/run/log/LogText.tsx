import { type CSSProperties, memo } from "react";
import { type Part, partsOf, shownOf } from "./logParts";

interface Props {
  text: string;
  from: number;
  /** How many characters are shown. */
  length: number;
  sought: string | undefined;
}

/** The text of a row of a log, in its colours, with links to the addresses in it and what is looked for marked. */
export const LogText = memo(function LogText({ text, from, length, sought }: Props) {
  return (
    <span className="log-text">
      {shownOf(partsOf(text), from, from + length).map((part, place) => {
        const Tag = part.address === undefined ? "span" : "a";
        return (
          <Tag
            // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place in the line
            key={place}
            className={part.look || undefined}
            style={styleOf(part)}
            {...(part.address && { href: part.address, target: "_blank", rel: "noopener noreferrer" })}
          >
            <Marked text={part.text} sought={sought} />
          </Tag>
        );
      })}
    </span>
  );
});

function styleOf({ ink, ground }: Part): CSSProperties | undefined {
  return ink || ground ? ({ "--ink": ink, "--ground": ground } as CSSProperties) : undefined;
}

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

import { isValidElement, type ReactElement, type ReactNode } from "react";
import { ScrollX } from "./ScrollX";

/** The head of a column: its word, with a class as in `{ num: word }`, or a whole cell; false = none. */
type Head = string | false | undefined | ReactElement | Readonly<Record<string, string>>;

interface Props {
  heads: readonly Head[];
  className?: string;
  /** It gets the focus itself, so that the keyboard can scroll it. */
  hasFocus?: boolean;
  /** Its rows. */
  children: ReactNode;
}

/** A table that is scrolled where it is wider than its place. */
export function Table({ heads, className, hasFocus = false, children }: Props) {
  const table = (
    <table className={className}>
      <Heads of={heads} />
      <tbody>{children}</tbody>
    </table>
  );
  return hasFocus ? <ScrollX>{table}</ScrollX> : <div className="scroll-x">{table}</div>;
}

/** The heads of a table's columns; `unseen` ones are for those who do not see what stands below. */
export function Heads({ of }: { of: readonly Head[] }) {
  return (
    <thead>
      <tr>
        {of.map((head, place) => {
          if (!head || isValidElement(head)) return head;
          const [look, word] = typeof head === "string" ? ["", head] : (Object.entries(head)[0] ?? []);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
            <th key={place} className={look === "unseen" ? undefined : look || undefined}>
              {look === "unseen" ? <span className="unseen">{word}</span> : word}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

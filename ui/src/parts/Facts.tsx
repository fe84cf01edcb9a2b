import type { ReactNode } from "react";

/** Names and what belongs to each. */
export function Facts({
  of,
  className,
}: {
  of: readonly (readonly [name: ReactNode, ReactNode])[];
  className: string;
}) {
  return (
    <dl className={className}>
      {of.map(([name, value], place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a fact is its place
        <div key={place}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A key that can be pressed. */
export function Kbd({ of }: { of: string }) {
  return <kbd className="kbd">{of}</kbd>;
}

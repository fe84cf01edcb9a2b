import { count } from "@/parts/time";

const HOT = 0.9;

/** How full something is: a bar, and both numbers. */
export function Bar({ used, most }: { used: number; most: number }) {
  const share = most === 0 ? 0 : Math.min(1, used / most);
  return (
    <span className="places">
      <span className="bar">
        <i data-hot={share >= HOT} ref={(bar) => bar?.style.setProperty("--share", `${Math.round(share * 100)}%`)} />
      </span>
      <span className="num">
        {count(used)} / {count(most)}
      </span>
    </span>
  );
}

import { type ReactNode, useEffect, useRef } from "react";

/** What was chosen in a list above: it comes into sight and gets the focus, since it may be far below its row. The link
 * that chooses it leaves the scroll alone (`resetScroll`). */
export function Detail({ children }: { children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.scrollIntoView({ block: "start" });
    place.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div ref={place} className="detail" tabIndex={-1}>
      {children}
    </div>
  );
}

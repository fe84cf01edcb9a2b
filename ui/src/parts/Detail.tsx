import { type ReactNode, useEffect, useRef } from "react";

/** What was chosen in a list above: it comes into sight and gets the focus, since it may be far below its row. */
export function Detail({ children, label }: { children: ReactNode; label: string }) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    place.current?.scrollIntoView({ block: "start" });
    place.current?.focus({ preventScroll: true });
  }, []);
  return (
    <section ref={place} className="detail" tabIndex={-1} aria-label={label}>
      {children}
    </section>
  );
}

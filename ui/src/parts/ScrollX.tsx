import type { ReactNode } from "react";

/** What may be wider than the page, and is then scrolled: by the keyboard too, also where nothing in it has the focus. */
export function ScrollX({ children, className = "" }: { children: ReactNode; className?: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by the keyboard
    <div className={`scroll-x ${className}`} tabIndex={0}>
      {children}
    </div>
  );
}

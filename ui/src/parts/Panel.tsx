import type { ReactNode } from "react";

interface Props {
  title: ReactNode;
  /** A count or a short remark behind the title. */
  remark?: ReactNode;
  /** At the end of the head: links, buttons. */
  end?: ReactNode;
  children: ReactNode;
  className?: string;
}

/** A titled surface: the unit that pages are made of. */
export function Panel({ title, remark, end, children, className = "" }: Props) {
  return (
    <section className={`panel ${className}`}>
      <header>
        <h2>{title}</h2>
        {remark !== undefined && <span className="n">{remark}</span>}
        {end !== undefined && <div className="end">{end}</div>}
      </header>
      {children}
    </section>
  );
}

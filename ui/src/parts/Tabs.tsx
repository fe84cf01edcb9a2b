import { Link } from "@tanstack/react-router";

interface Props<Tab extends string> {
  /** Of the page. */
  to: "/alerts" | "/cluster";
  /** The first one needs no `?tab=`. */
  tabs: readonly Tab[];
  chosen: Tab;
  /** What they choose among, for those who do not see them. */
  label: string;
  word: (tab: Tab) => string;
}

/** The parts of a page; which one is shown stands in the address. */
export function Tabs<Tab extends string>({ to, tabs, chosen, label, word }: Props<Tab>) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map((each, place) => (
        <Link
          key={each}
          to={to}
          search={place === 0 ? {} : { tab: each }}
          activeOptions={{ exact: true, includeSearch: true }}
          aria-current={each === chosen ? "page" : undefined}
        >
          {word(each)}
        </Link>
      ))}
    </nav>
  );
}

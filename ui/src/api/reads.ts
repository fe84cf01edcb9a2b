/** What is read: an answer as a whole, or a list page by page. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

interface Page<T> {
  items: readonly T[];
  has_more: boolean;
  next_cursor?: string | null;
}

/** An answer that is read as a whole. */
export function asked<T>(queryKey: readonly unknown[], queryFn: () => Promise<T>) {
  return queryOptions({ queryKey, queryFn });
}

/** A list as one, of as many pages as were asked for. `read` reads the page at a cursor; the first one has none. */
export function paged<T>(queryKey: readonly unknown[], read: (at: { cursor?: string }) => Promise<Page<T>>) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam === "" ? {} : { cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: (last) => (last.has_more ? last.next_cursor : undefined),
    select: ({ pages }) => ({ pages, items: pages.flatMap((page) => page.items) }),
  });
}

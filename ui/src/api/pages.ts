/** Lists that are read page by page. */
import { infiniteQueryOptions } from "@tanstack/react-query";

interface Page<T> {
  items: readonly T[];
  has_more: boolean;
  next_cursor?: string | null;
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

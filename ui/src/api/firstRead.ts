/** A cache of what was read that loses no change. */
import {
  type InvalidateOptions,
  type InvalidateQueryFilters,
  type Query,
  QueryClient,
  type QueryKey,
} from "@tanstack/react-query";

/**
 * Reads again what changes during its first read. TanStack's own client begins no second read while a query without
 * data is being read, and then takes the answer, which may be older than the change, for fresh.
 */
export class Queries extends QueryClient {
  private readonly again = new WeakSet<Query>();

  override invalidateQueries<Key extends QueryKey = QueryKey>(
    filters?: InvalidateQueryFilters<Key>,
    options?: InvalidateOptions,
  ): Promise<void> {
    const unread = this.getQueryCache()
      .findAll(filters)
      .filter((query) => query.state.data === undefined && query.state.fetchStatus === "fetching");
    for (const query of unread) this.readAgain(query);
    return super.invalidateQueries(filters, options);
  }

  private readAgain(query: Query): void {
    if (this.again.has(query)) return;
    this.again.add(query);
    // While a query is being read, this gives the promise of that read.
    void query
      .fetch()
      .catch(() => undefined)
      .then(() => {
        this.again.delete(query);
        return super.invalidateQueries({ queryKey: query.queryKey, exact: true });
      });
  }
}

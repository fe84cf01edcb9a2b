/** The cache of what was read. The first part of a key is what it is about: live/changes.ts names the same words. */
import { ApiProblem } from "./client";
import { Queries } from "./firstRead";

export const queries = new Queries({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      gcTime: 300_000,
      refetchOnWindowFocus: true,
      // What the server refused stays refused; what it could not do for a moment is asked for again.
      retry: (count, error) => isPassing(error) && count < 3,
      retryDelay: (count, error) =>
        error instanceof ApiProblem && error.retryAfterS !== null ? error.retryAfterS * 1000 : 500 * 2 ** count,
    },
    mutations: { retry: (count, error) => isPassing(error) && count < 2 },
  },
});

/** Whether an error says that what was asked for does not exist, such as since it was deleted. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 404;
}

/** Whether an error may pass by itself: not reached, too many requests, or a server that cannot serve now. */
export function isPassing(error: unknown): boolean {
  return error instanceof ApiProblem && (error.status === 0 || error.status === 429 || error.status >= 502);
}

import { SmallAct } from "@/parts/Act";

/** What it uses of a query whose pages follow one another. */
interface Pages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

/** Below a list: the button that fetches the next page of it, as long as there is one. */
export function More({ of, word }: { of: Pages; word: string }) {
  if (!of.hasNextPage) {
    return null;
  }
  return (
    <footer>
      <SmallAct loading={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()} word={word} />
    </footer>
  );
}

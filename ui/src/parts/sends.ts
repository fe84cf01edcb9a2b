import type { FormEvent } from "react";

/** What a form does when it is sent; the page stays. */
export function sends(act: () => void) {
  return (event: FormEvent) => {
    event.preventDefault();
    act();
  };
}

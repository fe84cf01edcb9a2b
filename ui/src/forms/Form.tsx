import type { ReactNode } from "react";
import { sends } from "@/parts/sends";
import "./forms.css";

interface Props {
  /** Sends what is in it; null = not now. */
  send: (() => void) | null;
  /** Whether the server says what is wrong with a value, not the browser. */
  isCheckedByServer?: boolean | undefined;
  children: ReactNode;
}

/** Fields that are sent together: by their button, or by Ctrl-Enter in any of them. */
export function Form({ send, isCheckedByServer, children }: Props) {
  return (
    <form
      className="form"
      noValidate={isCheckedByServer}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        event.currentTarget.requestSubmit();
      }}
      onSubmit={sends(() => send?.())}
    >
      {children}
    </form>
  );
}

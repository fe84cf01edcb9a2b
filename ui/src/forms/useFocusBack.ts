import { useEffect, useState } from "react";

/** Of a dialog that exists while it is open: gives the focus back to what had it before, if that is still there. */
export function useFocusBack(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    },
    [before],
  );
}

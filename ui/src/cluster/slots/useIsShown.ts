import { type RefObject, useEffect, useState } from "react";

/** Whether an element is on screen in a tab that somebody sees. */
export function useIsShown(element: RefObject<Element | null>): boolean {
  const [isOnScreen, setIsOnScreen] = useState(true);
  const [isHidden, setIsHidden] = useState(document.hidden);
  useEffect(() => {
    const watching = new IntersectionObserver(([entry]) => setIsOnScreen(entry?.isIntersecting ?? true));
    if (element.current !== null) watching.observe(element.current);
    const changed = () => setIsHidden(document.hidden);
    document.addEventListener("visibilitychange", changed);
    return () => {
      watching.disconnect();
      document.removeEventListener("visibilitychange", changed);
    };
  }, [element]);
  return isOnScreen && !isHidden;
}

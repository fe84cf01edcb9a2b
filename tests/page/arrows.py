"""Arrows of a graph that leave the page while what they join stays: they flicker, and none can be drawn meanwhile."""

from __future__ import annotations

from playwright.sync_api import Page, expect

ARROWS = ".react-flow__edge"


class ArrowWatch:
    """Counts, from now on, how often an arrow of the page's graph was taken away."""

    def __init__(self, page: Page, arrows: int) -> None:
        """Begin when so many arrows are there."""
        expect(page.locator(ARROWS)).to_have_count(arrows)
        self._page = page
        page.evaluate(
            """(arrows) => {
                window.arrowsLost = 0;
                new MutationObserver((changes) => {
                    for (const { removedNodes } of changes)
                        for (const gone of removedNodes)
                            if (gone instanceof Element && gone.querySelector(arrows)) window.arrowsLost += 1;
                }).observe(document.querySelector(".react-flow"), { childList: true, subtree: true });
            }""",
            ARROWS,
        )

    def lost(self) -> int:
        """How many were taken away until now."""
        return int(self._page.evaluate("window.arrowsLost"))

"""Lists that are read page by page, up to what a verb prints."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

from service import paging as pages

T = TypeVar("T")


EVERYTHING = sys.maxsize


async def all_items(ask: Callable[[int, str | None], Awaitable[pages.PageOf[T]]], limit: int = EVERYTHING) -> list[T]:
    """Up to `limit` items of a list; `ask` gets one page, of so many items after a cursor."""
    page = await ask(min(limit, pages.LIMIT_MAX), None)
    items = list(page.items)
    while page.next_cursor is not None and len(items) < limit:
        page = await ask(min(limit - len(items), pages.LIMIT_MAX), page.next_cursor)
        items += page.items
    return items

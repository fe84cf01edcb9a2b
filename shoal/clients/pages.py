"""Lists that are read page by page, up to what a verb prints."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

from service import fields
from service import paging as pages

T = TypeVar("T")
Q = TypeVar("Q", bound="fields.Asked")

EVERYTHING = sys.maxsize


async def all_items(ask: Callable[[Q], Awaitable[pages.PageOf[T]]], query: Q, limit: int = EVERYTHING) -> list[T]:
    """Up to `limit` items of a list; `ask` gets the page of a query, which has the fields `limit` and `cursor`."""
    items: list[T] = []
    cursor = None
    while len(items) < limit:
        size = min(limit - len(items), pages.LIMIT_MAX)
        page = await ask(query.model_copy(update={"limit": size, "cursor": cursor}))
        items += page.items
        if (cursor := page.next_cursor) is None:
            break
    return items

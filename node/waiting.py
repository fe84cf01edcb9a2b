"""Waiting for an event or a time, or for one of two events, whichever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def set_within(event: asyncio.Event, seconds: float) -> bool:
    """Whether `event` was set within `seconds`; it is cleared either way.

    Uses `asyncio.timeout`: in Python 3.11 `wait_for` swallows a cancellation that comes together with the event, and
    its caller then never ends (bpo-42130).
    """
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    finally:
        event.clear()
    return True


async def either_set(one: asyncio.Event, other: asyncio.Event) -> None:
    """Wait until one of two events is set; none is cleared."""
    waits = [asyncio.create_task(event.wait()) for event in (one, other)]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()


async def to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Finish the work even if the caller is cancelled; only a second cancellation ends it, and is raised."""
    doing = asyncio.create_task(work)
    try:
        await asyncio.shield(doing)
    except asyncio.CancelledError:
        await doing

"""Limits the looks of WAIT tasks in the worker's process; others run below a keeper, which can kill a hanging one.

A look holds its place until it has ended, even if its thread hangs in a file system.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from worker.statements.thread import threads_at_work

PLACES = 16
THREADS_MAX = 32
WAITS_S_MAX = 2.0
"""How long a look waits for a place."""


class LookPlaces:
    """The places of one worker."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(PLACES)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[bool]:
        """Yield whether the caller has a place within this block."""
        try:
            async with asyncio.timeout(WAITS_S_MAX):
                await self._free.acquire()
        except TimeoutError:
            is_free = False
        else:
            is_free = True
        try:
            yield is_free and threads_at_work() < THREADS_MAX
        finally:
            if is_free:
                self._free.release()

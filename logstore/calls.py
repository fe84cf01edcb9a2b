"""The calls of a log store, which may hang: each in a thread of its own, and its caller stops waiting in time.

A thread that hangs cannot be ended. So there are few, and as long as all of them hang a new call fails at once. They
are daemons: a process never waits for them to end.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from logstore.protocol import Advanced, LogStore
from model.cluster.means import NO_THREAD
from model.errors import Unavailable

R = TypeVar("R")

THREADS_MAX = 8
CLOSE_WITHIN_S = 2.0


class StoreCalls:
    """Runs calls of one store, from one event loop.

    Args:
        store: its place is in the sentences.
        within_s: seconds without progress after which a call has failed.
        threads_max: how many calls run at once; others wait, for as long as a call may take.
    """

    def __init__(self, store: LogStore, within_s: float, threads_max: int = THREADS_MAX) -> None:
        self.store = store
        self._within_s = within_s
        self._free = asyncio.Semaphore(threads_max)
        self._running: set[asyncio.Future[object]] = set()

    async def run(self, call: Callable[[LogStore, Advanced], R]) -> R:
        """What a call returns or raises.

        Raises:
            Unavailable: it has made no progress in time, or others that have not take all places.
        """
        try:
            async with asyncio.timeout(self._within_s):
                await self._free.acquire()
        except TimeoutError:
            raise Unavailable(f"the log store {self.store.place} does not answer: its former calls hang") from None
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[R] = loop.create_future()
        advanced_s = time.monotonic()

        def advanced() -> None:
            nonlocal advanced_s
            advanced_s = time.monotonic()

        def finish(result: R | None, error: BaseException | None) -> None:
            self._free.release()
            self._running.discard(ended)
            if ended.done():
                return
            if error is not None:
                ended.set_exception(error)
            else:
                ended.set_result(result)  # type: ignore[arg-type]

        def work() -> None:
            result, error = None, None
            try:
                result = call(self.store, advanced)
            except BaseException as raised:  # noqa: BLE001 - passed on to the caller
                error = raised
            with suppress(RuntimeError):  # the loop is closed: nobody waits now
                loop.call_soon_threadsafe(finish, result, error)

        self._running.add(ended)  # type: ignore[arg-type]
        try:
            threading.Thread(target=work, name="shoal-log-store", daemon=True).start()
        except RuntimeError as error:
            finish(None, None)
            if str(error) != NO_THREAD:
                raise
            raise Unavailable("this machine can begin no more threads just now") from error
        while not ended.done():
            left_s = advanced_s + self._within_s - time.monotonic()
            if left_s <= 0:
                ended.cancel()
                raise Unavailable(f"the log store {self.store.place} has not answered for {self._within_s:g} s")
            await asyncio.wait([ended], timeout=left_s)
        return ended.result()

    async def close(self) -> None:
        """Wait a moment for calls that run."""
        if self._running:
            await asyncio.wait(list(self._running), timeout=CLOSE_WITHIN_S)

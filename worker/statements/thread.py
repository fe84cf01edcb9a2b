"""Runs one blocking function in a thread of its own, which a cancellation interrupts.

Not `asyncio.to_thread`: its few threads are shared by the whole worker, and a statement may run for hours. The thread
is a daemon: one that hangs in a driver does not keep the worker from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import structlog

log = structlog.get_logger()

T = TypeVar("T")

INTERRUPT_EVERY_S = 0.3
"""The pause between two interrupts: one may come between two statements, or before the server has the statement."""


async def run_in_thread(work: Callable[[], T], interrupt: Callable[[], None], patience_s: float) -> T:
    """Run `work` and return its result.

    Args:
        work: blocks; learns of a cancellation only through the effect of `interrupt`.
        interrupt: makes `work` end soon. Called from another thread, again and again until it has; may block or raise.
        patience_s: how long to wait for that after a cancellation, before the thread is abandoned.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())  # perhaps nobody awaits it now
    ended = threading.Event()

    def resolve(result: Callable[[], None]) -> None:
        ended.set()
        with suppress(RuntimeError):  # the loop was closed: nobody waits
            loop.call_soon_threadsafe(result)

    def body() -> None:
        try:
            value = work()
        except Exception as error:  # noqa: BLE001 - it is the awaiting task's
            failure = error
            resolve(lambda: future.set_exception(failure))
        else:
            resolve(lambda: future.set_result(value))

    def keep_interrupting() -> None:
        times = max(1, round(patience_s / INTERRUPT_EVERY_S))
        for _ in range(times):
            try:
                interrupt()
            except Exception as error:  # noqa: BLE001 - drivers raise anything; the next try may succeed
                log.warning("interrupt_failed", error=type(error).__name__)
            if ended.wait(INTERRUPT_EVERY_S):
                return

    threading.Thread(target=body, name="shoal-statement", daemon=True).start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if not ended.is_set():
            threading.Thread(target=keep_interrupting, name="shoal-interrupt", daemon=True).start()
            await asyncio.wait({future}, timeout=patience_s)
            if not ended.is_set():
                log.warning("statement_left_behind", waited_s=patience_s, so="it may continue on the database server")
        raise

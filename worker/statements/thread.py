"""Runs one blocking function in a thread of its own, which a cancellation interrupts.

Not `asyncio.to_thread`: its few threads are shared by the whole worker, and a statement may run for hours. The thread
is a daemon: one that hangs in a driver or in a file system does not keep the worker from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

import structlog

log = structlog.get_logger()

P = ParamSpec("P")
T = TypeVar("T")

INTERRUPT_EVERY_S = 0.3
"""The pause between two interrupts: one may come between two statements, or before the server has the statement."""

_NAME = "shoal-statement"


def threads_at_work() -> int:
    """How many such threads this process has, including abandoned ones that still hang."""
    return sum(thread.name == _NAME for thread in threading.enumerate())


async def run_in_thread(work: Callable[[], T], interrupt: Callable[[], None], patience_s: float) -> T:
    """Run `work` and return its result.

    Args:
        work: blocks; learns of a cancellation only through the effect of `interrupt`.
        interrupt: makes `work` end soon. Called from another thread, repeatedly until `work` ends; may block or raise.
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
        except BaseException as error:  # noqa: BLE001 - it is the awaiting task's, a cancellation inside too
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

    threading.Thread(target=body, name=_NAME, daemon=True).start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if not ended.is_set():
            threading.Thread(target=keep_interrupting, name="shoal-interrupt", daemon=True).start()
            await asyncio.wait({future}, timeout=patience_s)
            if not ended.is_set():
                log.warning("thread_left_behind", waited_s=patience_s, so="its server or file system may go on with it")
        raise


async def run_on_own_loop(make: Callable[[], Coroutine[Any, Any, T]], patience_s: float) -> T:
    """Run a coroutine on an event loop of its own thread, so that blocking calls, such as to a name server that does
    not answer, hold up nothing else. A cancellation cancels it once.

    Args:
        make: called in the thread.
        patience_s: as in `run_in_thread`.
    """
    running: list[asyncio.Task[T]] = []

    def work() -> T:
        loop = asyncio.new_event_loop()
        try:
            loop.set_default_executor(_SameThread())
            running.append(loop.create_task(make()))
            return loop.run_until_complete(running[0])
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def interrupt() -> None:
        for task in running:
            with suppress(RuntimeError):  # its loop was closed: it has ended
                task.get_loop().call_soon_threadsafe(cancel_once, task)

    return await run_in_thread(work, interrupt, patience_s)


def cancel_once(task: asyncio.Task[Any]) -> None:
    """Cancel a task once: a second cancellation would interrupt its cleanup."""
    if not task.cancelling():
        task.cancel()


class _SameThread(ThreadPoolExecutor):
    """Runs work at once in its loop's thread: the interpreter would wait for other threads at its end."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - it is the awaiting coroutine's
            done.set_exception(error)
        return done

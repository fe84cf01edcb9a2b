"""Ends a process whose event loop hangs. Otherwise it would own runs and tasks, and do nothing for them.

Its beats stop, so other nodes fail over its work. But a registry client with its own thread keeps its session alive,
and nothing would restart the process. When it exits, a supervisor can restart it, and the launcher can end the worker's
tasks.

A thread sends a callback to the loop at each of its ticks, and counts the ticks that came on time since the loop last
ran one. In a process that was stopped, or whose machine slept or is overloaded, ticks are late: late ticks do not
count, so that no process is ended because it slept. (Code that holds Python's interpreter lock all that time, such as
an endless regular expression, stops this thread too.)
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog

from registry.clock import boottime_s

log = structlog.get_logger()

HUNG_EXIT_CODE = 70
TICKS_MIN = 5
"""The minimum number of ticks on time; none is longer than a second."""
TICK_S_MAX = 1.0
SAY_S_MAX = 2.0
"""The log may hang because its reader has stopped; the process then ends anyway."""


@contextmanager
def watched(limit: timedelta, end: Callable[[int], object] = os._exit) -> Iterator[None]:
    """Within this block, end the process with exit code 70 if the running loop hangs for `limit`."""
    watchdog = _Watchdog(asyncio.get_running_loop(), limit, end)
    watchdog.start()
    try:
        yield
    finally:
        watchdog.stop()


class _Watchdog(threading.Thread):
    def __init__(self, loop: asyncio.AbstractEventLoop, limit: timedelta, end: Callable[[int], object]) -> None:
        super().__init__(name="shoal-watchdog", daemon=True)
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._limit_s = limit.total_seconds()
        self._tick_s = min(TICK_S_MAX, self._limit_s / TICKS_MIN)
        self._end = end
        self._is_over = threading.Event()
        self._hung_s = 0.0

    def stop(self) -> None:
        """Stop watching. Returns at once."""
        self._is_over.set()

    def run(self) -> None:
        """In its own thread, until `stop` or the end of the process."""
        while self._hung_s < self._limit_s:
            try:
                self._loop.call_soon_threadsafe(self._sign_of_life)
            except RuntimeError:
                return  # the loop is closed: the process is about to end
            asked_s = boottime_s()
            if self._is_over.wait(self._tick_s):
                return
            if boottime_s() - asked_s < 2 * self._tick_s:
                self._hung_s += self._tick_s
        saying = threading.Thread(target=self._say, daemon=True)
        saying.start()
        saying.join(SAY_S_MAX)
        self._end(HUNG_EXIT_CODE)

    def _sign_of_life(self) -> None:
        self._hung_s = 0.0

    def _say(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        where = "".join(traceback.format_stack(frame)) if frame else "its thread has ended"
        log.critical(
            "loop_hung", hung_s=round(self._hung_s, 1), where=where, so="exits; others fail over what it owned"
        )

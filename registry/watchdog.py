"""Ends a process whose event loop hangs: it would own runs and tasks, and do nothing for them.

Its beat stands still, so the others take over what it owns; but a registry client with a thread of its own keeps its
session alive, and nothing would ever start the process again. Its end lets a supervisor do so, and lets the launcher
end what a worker ran.

A thread asks the loop for a sign of life at each of its ticks, and counts those ticks that came on time since the last
sign. A process that was stopped, or whose machine slept or is far too busy, ticks late: that counts for nothing, so
that nobody is ended for having been asleep. (Code that keeps Python's interpreter lock for all that time, such as a
regular expression that never ends, stops this thread too.) Source: reliability study, W24.
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

from registry.contact import boottime_s

log = structlog.get_logger()

HUNG_EXIT_CODE = 70
TICKS_MIN = 5
"""How many ticks on time it takes at least; none is longer than a second."""
TICK_S_MAX = 1.0
SAY_S_MAX = 2.0
"""What hangs may be the log itself: whoever reads it has stopped reading. The process ends all the same."""


@contextmanager
def watched(limit: timedelta, end: Callable[[int], object] = os._exit) -> Iterator[None]:
    """Within this block, end the process with exit code 70 once the running loop has been hung for `limit`."""
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
        """Watch no longer. Returns at once."""
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
        log.critical("loop_hung", hung_s=round(self._hung_s, 1), where=where, so="ends; others take over what it owned")

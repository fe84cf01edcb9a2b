"""What the transactions of one node changed, announced together after their commits, a few times a second.

NOTIFY takes a lock that all transactions of the server share, until the commit is on the disk: transactions that each
announced their changes would commit one by one. A change is in memory from its commit until it is announced. Of a node
that dies meanwhile, the node that ends its life announces that anything may have changed (`dao/cluster/fencing.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from dao.logger import logger
from model.changes import Changes
from model.errors import ShoalError

log = logger()

EVERYTHING = ""
"""The payload that says that anything may have changed."""

Send = Callable[[Sequence[str]], Awaitable[None]]


class Announcer:
    """Collects changes, and sends them at most every `EVERY_S`. Nothing is sent while nothing changes.

    Args:
        send: sends these payloads. Whatever it raises, they are sent again.
    """

    EVERY_S = 0.2
    LATE_S = 5.0
    """Changes that could not be announced for so long are announced as `EVERYTHING`: watchers have read other rows
    since, and read of an attempt only what is recent (`RECENT_S` in `dao/runs/live.py`)."""
    DOUBT_S = 8.0
    """A COMMIT whose answer was lost has ended by then: the server ends each statement before (`STATEMENT_S_MAX`)."""
    CLOSE_S_MAX = 1.0

    def __init__(self, send: Send) -> None:
        self._send = send
        self._pending = Changes()
        self._sent = Changes()
        """Those that are being sent."""
        self._since_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._doubts: deque[tuple[asyncio.TimerHandle, Changes]] = deque()
        """The changes in doubt, oldest first, each with the timer of its end."""
        self._fails = False
        self._closed = False

    @property
    def unannounced(self) -> Changes:
        """A copy of what is not surely announced yet."""
        changes = Changes()
        changes.add(self._pending)
        changes.add(self._sent)
        for _, doubtful in self._doubts:
            changes.add(doubtful)
        return changes

    def committed(self, changes: Changes) -> None:
        """Announce these soon."""
        if not changes:
            return
        if not self._pending:
            self._since_s = _now_s()
        self._pending.add(changes)
        self._schedule()

    def in_doubt(self, changes: Changes) -> None:
        """Announce these, which may be committed or be committed later: now, and again when that is certain."""
        if not changes:
            return
        self.committed(changes)
        if not self._closed:
            self._doubts.append((asyncio.get_running_loop().call_later(self.DOUBT_S, self._doubt_ends), changes))

    async def close(self) -> None:
        """Announce what is left, if it takes no longer than `CLOSE_S_MAX`. What comes later is not announced."""
        self._closed = True
        for timer, _ in self._doubts:
            timer.cancel()
        try:
            async with asyncio.timeout(self.CLOSE_S_MAX):
                if self._sending is not None:
                    await self._sending
                if self._timer is not None:
                    self._timer.cancel()
                if self._pending:
                    await self._send_pending()
        except TimeoutError:
            log.warning("changes_not_announced", so="a node that has not left is fenced, and all is read again then")

    def _doubt_ends(self) -> None:
        self.committed(self._doubts.popleft()[1])

    def _schedule(self) -> None:
        if self._timer is None and self._sending is None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(self.EVERY_S, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._sending = asyncio.create_task(self._send_pending())
        self._sending.add_done_callback(self._ended)

    def _ended(self, _sending: asyncio.Task[None]) -> None:
        self._sending = None
        if self._pending:
            self._schedule()

    async def _send_pending(self) -> None:
        since_s, self._since_s = self._since_s, _now_s()
        changes = self._sent = self._pending
        self._pending = Changes()
        try:
            is_late = _now_s() - since_s > self.LATE_S
            await self._send([EVERYTHING] if is_late else list(changes.payloads()))
            self._fails = False
        except Exception as error:
            if not self._fails and isinstance(error, ShoalError):
                log.warning("announcement_waits", error=str(error))
            elif not self._fails:
                log.exception("announcement_waits", error=repr(error))
            self._fails = True
            self._pending.add(changes)
            self._since_s = since_s
        finally:
            self._sent = Changes()


def _now_s() -> float:
    """Of a clock that also counts while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)

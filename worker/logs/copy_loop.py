"""Copies the logs of ended attempts into the log store, in the background.

Nothing waits for it: an attempt is reported first, then its log is offered here. Offers are bounded; what does not fit,
or was left by a former process, is found again in the log folder (`worker/logs/walk.py`). The rows decide what is
copied: the attempt has ended, on this worker, and `stored_log` has no row of it.

While the store fails, one log at a time is tried, with growing pauses; the reason is in `log_copying`.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import structlog

from dao.cluster import log_stores
from dao.tasks import stored_logs
from model.backoff import Backoff
from model.errors import Fenced, ShoalError
from model.logs.name import LogName
from node.life import Life
from node.store_access import StoreAccess
from node.threads import in_thread
from registry.clock import boottime_s
from worker.logs import copy_step as log_copy
from worker.logs.copy_step import Measured
from worker.logs.walk import BATCH as SCAN_BATCH
from worker.logs.walk import LeftLogs

log = structlog.get_logger()

OFFERED_MAX = 10_000
"""The most offered names in memory: a walk over the folder finds the rest."""
AT_ONCE = 4
BATCH = 200
PAUSE_S_MIN, PAUSE_S_MAX = 0.5, 60.0
SCAN_EVERY_S = 6 * 3600.0
SCAN_AGAIN_S = 30.0
"""The pause after a walk that met unfinished attempts: those of a former life, which is about to be fenced."""
SAY_EVERY_S = 5.0
FINISH_WITHIN_S = 5.0
GATHER_S = 0.5
"""Gathers the logs of short tasks, so that they are recorded together."""
BUSY_SHARE = 4
"""The pause after a batch, in multiples of its duration, at most `BUSY_PAUSE_S_MAX`: tasks come first."""
BUSY_PAUSE_S_MAX = 1.0


class LogCopies:
    """The copies of one life of a worker.

    Args:
        root: the folder of its logs.
        worker: its name.
    """

    def __init__(self, root: Path, life: Life, worker: str, store: StoreAccess) -> None:
        self._root = root
        self._life = life
        self._worker = worker
        self._store = store
        self._offered: deque[LogName] = deque()
        self._scan: LeftLogs | None = LeftLogs(root)
        self._scan_at_s = boottime_s()
        self._met_unfinished = False
        self._overflowed = False
        self._under_way = 0
        self._is_verified = False
        self._reason: str | None = None
        self._said: tuple[int, str | None] = (0, None)
        self._said_s = 0.0
        self._wake = asyncio.Event()
        self._backoff = Backoff(PAUSE_S_MIN, PAUSE_S_MAX)
        self._is_hurried = False

    def offer(self, name: LogName) -> None:
        """Offer the log of an attempt whose end is reported."""
        if len(self._offered) >= OFFERED_MAX:
            self._overflowed = True
        else:
            self._offered.append(name)
            self._wake.set()

    async def run(self) -> None:
        """Copy until cancelled. Raises `Fenced`."""
        while True:
            try:
                if not await self._round():
                    await self._wait_for_work()
            except Fenced:
                raise
            except ShoalError as error:
                await self._fail(str(error))
            except OSError as error:
                await self._fail(f"the logs of this worker cannot be read: {error.strerror}")

    async def finish(self) -> None:
        """Before the worker leaves, perhaps with its disk, wait some seconds for the last logs while the store
        works."""
        self._is_hurried = True
        self._wake.set()
        until_s = boottime_s() + FINISH_WITHIN_S
        while self._waiting and self._reason is None and boottime_s() < until_s:  # noqa: ASYNC110 - once in a life
            await asyncio.sleep(0.05)

    @property
    def _waiting(self) -> int:
        return len(self._offered) + self._under_way

    async def _wait_for_work(self) -> None:
        self._wake.clear()
        if not self._offered:
            await self._say()
            try:
                async with asyncio.timeout(max(0.0, self._scan_at_s - boottime_s())):
                    await self._wake.wait()
            except TimeoutError:
                self._scan = LeftLogs(self._root)
        if not self._is_hurried:
            await asyncio.sleep(GATHER_S)

    async def _round(self) -> bool:
        """Copy a batch; False if there is nothing to do."""
        names = [self._offered.popleft() for _ in range(min(BATCH, len(self._offered)))]
        if not names and self._scan is not None:
            names = await self._scanned(self._scan)
        if not names:
            return self._scan is not None
        began_s = boottime_s()
        self._under_way, left, fault = len(names), list(names), None
        try:
            left, fault = await self._copy(names)
        finally:
            self._under_way = 0
            self._put_back(left)
        if fault is not None:
            await self._fail(fault)
        elif not self._is_hurried:
            await asyncio.sleep(min(BUSY_PAUSE_S_MAX, BUSY_SHARE * (boottime_s() - began_s)))
        await self._say()
        return True

    async def _scanned(self, scan: LeftLogs) -> list[LogName]:
        names = await in_thread(scan.more)
        if len(names) < SCAN_BATCH:
            self._scan = None  # that was its end
            soon = self._met_unfinished or self._overflowed
            self._scan_at_s = boottime_s() + (SCAN_AGAIN_S if soon else SCAN_EVERY_S)
            self._met_unfinished = self._overflowed = False
        return names

    def _put_back(self, names: Sequence[LogName]) -> None:
        for name in names:
            self.offer(name)

    async def _copy(self, names: Sequence[LogName]) -> tuple[list[LogName], str | None]:
        """Copy those logs that should be copied; returns the ones that remain, and why the store fails."""
        wanted = await self._life.database.read(stored_logs.wanted, names, self._worker)
        self._met_unfinished = self._met_unfinished or bool(wanted.unfinished)
        todo = [name for name in names if name.task_instance_id in wanted.ended]
        if not todo:
            return [], None
        if not self._is_verified:
            await self._store.verify()
            self._is_verified = True
        tries = todo[:1] if self._reason is not None else todo  # a store that failed gets one to try
        found = await in_thread(log_copy.measured, self._root, tries)
        copies = [each for each in found if each.size]
        parts = [part for at in range(AT_ONCE) if (part := copies[at::AT_ONCE])]
        results = await asyncio.gather(*map(self._copy_part, parts))
        fault = next((fault for _, fault in results if fault is not None), None)
        done = [each for part, _ in results for each in part]
        await self._record([each for each in found if each.has_no_copy] + done)
        if fault is None or done:
            self._succeed()
        lost = {each.name for each in copies} - {each.name for each in done}
        return [*todo[len(tries) :], *lost], None if done else fault

    async def _copy_part(self, part: Sequence[Measured]) -> tuple[list[Measured], str | None]:
        try:
            return await self._store.run(partial(log_copy.put_all, self._root, part))
        except ShoalError as error:
            return [], str(error)

    async def _record(self, copies: Sequence[Measured]) -> None:
        if not copies:
            return
        there = await self._life.write(stored_logs.record, [each.stored for each in copies])
        if gone := [each.key for each in copies if each.stored.id not in there and each.size]:
            await self._store.run(lambda store, _: store.delete(gone))  # deleted while they were copied

    def _succeed(self) -> None:
        if self._reason is not None:
            log.info("log_store_works_again", store=self._store.place)
        self._reason = None
        self._backoff.reset()

    async def _fail(self, reason: str) -> None:
        if self._reason != reason:
            log.warning("logs_not_copied", reason=reason, waiting=self._waiting, so="only this worker has them")
        self._reason, self._is_verified = reason, False
        await self._say()
        pause_s = self._backoff.next_pause_s(random.random())  # noqa: S311 - jitter
        await asyncio.sleep(pause_s)

    async def _say(self) -> None:
        """Write the progress if it has changed, but not too often."""
        now = (self._waiting, self._reason)
        is_new = (now[0] > 0, now[1]) != (self._said[0] > 0, self._said[1])
        if now == self._said or not (is_new or boottime_s() - self._said_s >= SAY_EVERY_S):
            return
        try:
            await self._life.write(log_stores.say, self._life.me.epoch, *now)
        except Fenced:
            raise
        except ShoalError as error:
            log.warning("log_copying_not_written", error=str(error))
            return
        self._said, self._said_s = now, boottime_s()

"""Writes rows in sets: if a set cannot be written, its rows are tried one by one.

A row that fails, or that waits for another session's lock, is quarantined with a growing delay, and all others are
written. This is only in memory, as in `master/claim/quarantine.py`: another master may succeed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import timedelta
from typing import Generic, TypeVar

import structlog

from dao.postgres.database import FencedTransaction, wait_briefly
from dao.postgres.errors import BadData, LockTaken
from master.claim.quarantine import PAUSE_FIRST_S, PAUSE_MAX_S
from node.life import Life
from registry.clock import boottime_s

log = structlog.get_logger()

Id = TypeVar("Id", bound=int)
LOCK_WAIT, LOCK_WAIT_LATER = timedelta(milliseconds=200), timedelta(milliseconds=5)
"""The lock wait of one row: the second applies after many of its set have waited in vain."""
LOCKED_MANY = 20


class RowSet(Generic[Id]):
    """The rows of one kind.

    Args:
        what: one of them, and `done` what is done with it, for log events such as `failover_quarantined`.
        so: what follows from a quarantined row.
        size: the size of a set.
        find: the ids of a set of that size, without these.
        write: writes such a set, or only one row of this id; returns how many were written.
    """

    def __init__(
        self,
        life: Life,
        what: str,
        done: str,
        so: str,
        size: int,
        *,
        find: Callable[[FencedTransaction, int, Sequence[Id]], Awaitable[list[Id]]],
        write: Callable[[FencedTransaction, int, Sequence[Id], Id | None], Awaitable[int]],
    ) -> None:
        self._life = life
        self._what, self._done, self._so = what, done, so
        self._size = size
        self._find = find
        self._write = write
        self._waits: dict[Id, tuple[float, float]] = {}
        """The delay of each quarantined row, and when it ends."""

    async def write(self) -> tuple[int, bool]:
        """Write a set; returns how many rows, and whether there may be more. Raises `Unavailable`, `Unknown`,
        `Fenced`."""
        try:
            count = await self._write_set(None)
            if count < self._size:
                self._drop(())
            return count, count == self._size
        except (BadData, LockTaken) as error:
            log.warning(f"{self._done}_failed", what=self._what, error=str(error), so="each is tried alone")
            return await self._one_by_one()

    @property
    def _quarantined(self) -> list[Id]:
        """The quarantined rows that are not due yet."""
        return [id_ for id_, (_, until_s) in self._waits.items() if until_s > boottime_s()]

    async def _one_by_one(self) -> tuple[int, bool]:
        ids = await self._life.write(self._find, self._size, self._quarantined)
        if len(ids) < self._size:
            self._drop(ids)
        count = locked = 0
        for id_ in ids:
            try:
                count += await self._write_set(id_, LOCK_WAIT if locked < LOCKED_MANY else LOCK_WAIT_LATER)
                self._waits.pop(id_, None)
            except (BadData, LockTaken) as error:
                locked += isinstance(error, LockTaken)
                pause_s = min(PAUSE_MAX_S, 2 * self._waits.get(id_, (PAUSE_FIRST_S / 2, 0.0))[0])
                self._waits[id_] = (pause_s, boottime_s() + pause_s)
                log.warning(
                    f"{self._done}_quarantined",
                    what=self._what,
                    id=id_,
                    error=str(error),
                    tries_again_in_s=pause_s,
                    so=self._so,
                )
        return count, count > 0 and len(ids) == self._size

    def _drop(self, found: Collection[Id]) -> None:
        """Drop rows that are due and were not found again: somebody has written them."""
        due = self._waits.keys() - set(self._quarantined) - set(found)
        self._waits = {id_: wait for id_, wait in self._waits.items() if id_ not in due}

    async def _write_set(self, only: Id | None, lock_wait: timedelta = LOCK_WAIT) -> int:
        async with self._life.writing() as connection:
            if only is not None:
                await wait_briefly(connection, lock_wait)
            return await self._write(connection, self._size, () if only is not None else self._quarantined, only)

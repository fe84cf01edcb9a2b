"""The log store as nodes write to it: only if it carries a mark of this cluster.

An empty mount point, a recreated bucket and another cluster's store all accept logs, and lose them. So the database
knows the marks of this cluster's stores; a new store gets its mark once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from functools import partial
from typing import TypeVar

from dao.cluster import log_stores
from dao.postgres.database import database_time
from logstore.calls import StoreCalls
from logstore.protocol import MARK, Advanced, LogStore
from model.errors import Unavailable
from node.life import Life

R = TypeVar("R")


class StoreAccess:
    """Calls of the log store in one life of a node."""

    def __init__(self, calls: StoreCalls, life: Life) -> None:
        self._calls = calls
        self._life = life

    @property
    def place(self) -> str:
        return self._calls.store.place

    async def run(self, call: Callable[[LogStore, Advanced], R]) -> R:
        return await self._calls.run(call)

    async def verify(self) -> None:
        """Check that the store is this cluster's. Raises `Unavailable` if it is not, or does not answer."""
        found = await self.run(lambda store, _: store.mark())
        if found is not None:
            is_ours = await self._life.database.read(log_stores.is_ours, found)
            if is_ours:  # no call holds a connection while it waits for another one: many may look at once
                await self._enter(found)
                return
        row = await self._life.write(log_stores.enter, self.place)
        if found is None and row.is_marked:  # perhaps by another worker just now
            found = await self.run(lambda store, _: store.mark())
        if found is None and row.is_marked:
            raise Unavailable(
                f"the log store {self.place} has lost its file {MARK}: nothing is mounted there, or it was made again; "
                f"mount it, or see docs/guides/logs.md for how to begin with an empty one"
            )
        if found is None:
            found = await self.run(partial(_set_mark, row.mark))
        if found != row.mark:
            raise Unavailable(
                f"the log store {self.place} belongs to another cluster (its file {MARK} is not of this database); "
                f"give each cluster a folder or prefix of its own"
            )
        await self._enter(found)

    async def today(self) -> str:
        """The day of the database's time in UTC, as yyyyMMdd."""
        return f"{(await self._life.database.read(database_time)).astimezone(UTC):%Y%m%d}"

    async def _enter(self, mark: str) -> None:
        await self._life.write(log_stores.enter_as, self.place, mark)


def _set_mark(mark: str, store: LogStore, _advanced: Advanced) -> str:
    return store.set_mark(mark)

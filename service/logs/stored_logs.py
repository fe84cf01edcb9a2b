"""Reads copies of logs in the log store. One for each process, so that a store that hangs takes few of its threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dao.tasks.task_logs import LogPlace
from model.errors import NotFound, Unavailable
from service.words import moment

if TYPE_CHECKING:
    from logstore.calls import StoreCalls
    from logstore.protocol import Advanced, LogStore
    from logstore.settings import LogStoreSettings


R = TypeVar("R")


class StoredLogs:
    """The copies in the store that the settings name, as a `LogReader`. The store is opened with the first read."""

    def __init__(self, settings: LogStoreSettings) -> None:
        self._settings = settings
        self._calls: StoreCalls | None = None

    @property
    def is_set(self) -> bool:
        return self._settings.url is not None

    async def read(self, place: LogPlace, offset: int, limit: int) -> tuple[bytes, int, int]:
        """See `LogReader`. Raises `NotFound` also where the attempt wrote no log."""
        if place.stored_at is not None and place.stored_size is None:
            raise NotFound(f'task "{place.name}" ({place.id}) wrote no log')
        if place.stored_size == 0:
            return b"", 0, 0
        key, first = place.name_of_log.key(place.stored_first), place.stored_first
        size = place.stored_size
        try:
            # One that asks only how long it is begins to answer with that: the copy must be there. One without a row is
            # of a worker that died before it could write it.
            if limit == 0 or size is None:
                size = first + await self.run(lambda store, _: store.size(key))
            begin, end = max(offset, first), min(offset + limit, size)
            if begin >= end:
                return b"", size, first
            data = await self.run(lambda store, _: store.read(key, begin - first, end - begin))
        except NotFound:
            if place.stored_at is None:
                raise
            where, since = self._opened().store.place, moment(place.stored_at)
            raise NotFound(f"the log store {where} has no longer the copy that was stored {since}") from None
        return bytes(begin - offset) + data, size, first

    async def run(self, call: Callable[[LogStore, Advanced], R]) -> R:
        """See `StoreCalls.run`. Raises `Unavailable` also where this process knows no store."""
        if not self.is_set:
            raise Unavailable("no log store is set here; set log_store.url as the workers have it")
        return await self._opened().run(call)

    async def mark(self) -> str | None:
        """The mark in the store; None: it has none. Raises `Unavailable`, and `Refused` if it cannot be opened here."""
        return await self.run(lambda store, _: store.mark())

    async def aclose(self) -> None:
        """See `LogReader`: the store stays open for others."""

    def _opened(self) -> StoreCalls:
        if self._calls is None:
            from logstore.opening import open_calls

            self._calls = open_calls(self._settings)
            assert self._calls is not None
        return self._calls

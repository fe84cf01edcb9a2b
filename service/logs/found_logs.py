"""Reads the log of an attempt from its worker while that is there, else from the log store.

Only a log that is complete has a copy, so wherever a reader changes from one to the other, the bytes are the same.
"""

from __future__ import annotations

from dao.cluster import log_stores
from dao.postgres.database import Database
from dao.tasks.task_logs import LogPlace
from model.errors import NotFound, Refused, ShoalError, Unavailable
from service.logs.stored_logs import StoredLogs
from service.logs.task_output import LogReader
from service.logs.worker_logs import WorkerLogs
from service.words import moment


class FoundLogs:
    """See `LogReader`; for one log."""

    def __init__(self, database: Database, worker: WorkerLogs, stored: StoredLogs) -> None:
        self._database = database
        self._worker = worker
        self._stored = stored
        self._last: LogReader | None = None
        """Which had it last."""

    async def aclose(self) -> None:
        await self._worker.aclose()
        await self._stored.aclose()

    async def read(self, place: LogPlace, offset: int, limit: int) -> tuple[bytes, int, int]:
        if not place.state.is_final:
            try:
                return await self._worker.read(place, offset, limit)
            except Unavailable as error:
                raise await self._neither(place, error, None) from error
        errors: dict[LogReader, ShoalError] = {}
        for reader in self._order(place):
            try:
                found = await reader.read(place, offset, limit)
            except (Refused, Unavailable) as error:
                errors[reader] = error
                continue
            self._last = reader
            return found
        raise await self._neither(place, errors.get(self._worker), errors.get(self._stored))

    def _order(self, place: LogPlace) -> list[LogReader]:
        may_be_stored = place.stored_at is not None or self._stored.is_set
        readers: list[LogReader] = []
        if place.url is not None:
            readers.append(self._worker)
        if may_be_stored:
            readers.append(self._stored)
        begin = self._last or (self._stored if place.stored_at is not None and not place.worker_lives else None)
        return sorted(readers, key=lambda reader: reader is not begin)

    async def _neither(self, place: LogPlace, worker: ShoalError | None, store: ShoalError | None) -> ShoalError:
        """Why nobody has it, as an error with one sentence."""
        if place.stored_at is not None and store is not None:
            if isinstance(store, NotFound) and place.stored_size is None:
                return store
            return Unavailable(f"{_lost(place, worker)}; its copy cannot be read: {store}")
        if isinstance(worker, Unavailable) and not place.worker_lives and place.worker_ended_at is not None:
            return Unavailable(
                f"the log is on worker {place.worker_address}, which is gone since {moment(place.worker_ended_at)} "
                f"({place.worker_ended_why}), and {await self._why_not_stored(place, store)}; "
                f"it can be read again when a worker with that folder serves at that address"
            )
        if worker is not None:
            return worker
        return store or Unavailable(f'the worker that ran task "{place.name}" is no longer known')

    async def _why_not_stored(self, place: LogPlace, store: ShoalError | None) -> str:
        if not self._stored.is_set:
            return "no log store is set (log_store.url)"
        if store is not None and not isinstance(store, NotFound):
            return f"whether it was copied cannot be found out: {store}"
        assert place.worker is not None
        said = await self._database.read(log_stores.copying, place.worker)
        if said and said[0].failing_since is not None:
            return f"could not be copied: since {moment(said[0].failing_since)} {said[0].reason}"
        return "was not copied to the log store before"


def _lost(place: LogPlace, worker: ShoalError | None) -> str:
    """Why the worker does not have a log that was copied."""
    if place.worker_ended_at is not None and not place.worker_lives:
        return f"worker {place.worker_address}, which had the log, is gone since {moment(place.worker_ended_at)}"
    if isinstance(worker, NotFound):
        return f"worker {place.worker_address} has lost the log"
    return str(worker or "the worker that had the log is no longer known")

"""The log of an attempt, in slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dao.postgres.database import Database
from dao.tasks import task_logs
from dao.tasks.task_logs import LogPlace
from model.errors import Refused
from model.ids import TaskInstanceId
from service.byte_stream import SLICE_BYTES_MAX, Slice
from service.explain.answer import task_named


class LogReader(Protocol):
    """Reads a log where it is: on its worker's disk, or in the log store."""

    async def read(self, place: LogPlace, offset: int, limit: int) -> tuple[bytes, int, int]:
        """Bytes from `offset`, the size of the whole log, and where what is left of it begins; nothing while nothing is
        written yet.

        Raises:
            Refused: it does not accept us.
            NotFound: it has no log of an attempt that has ended.
            Unavailable: it is gone, or does not answer.
        """

    async def aclose(self) -> None:
        """Close its connections."""


@dataclass(frozen=True)
class Text:
    """What is known without a worker, as a `Source`: what a task decided that none ran, which stands for its log, or a
    value."""

    id: int
    project: str | None
    file_name: str
    text: str

    async def read(self, offset: int, limit: int = SLICE_BYTES_MAX) -> Slice:
        whole = self.text.encode(errors="replace")
        return Slice(whole[offset : offset + limit], len(whole), is_complete=True)

    async def aclose(self) -> None:
        """See `Source`."""


def log_file_name(id_: int) -> str:
    """Under which the log of an attempt is saved."""
    return f"task-{id_}.log"


class TaskLog:
    """The log of one attempt, as a `Source`.

    Args:
        database: asked for the attempt's state, whenever its log was read to the end.
        place: where its log is.
        reader: reads it.
        waits: a log that has not begun is empty; otherwise it is refused.
    """

    def __init__(self, database: Database, place: LogPlace, reader: LogReader, *, waits: bool) -> None:
        self._database = database
        self._place = place
        self._reader = reader
        self._waits = waits
        self._size: int | None = None

    @property
    def id(self) -> int:
        return self._place.id

    @property
    def project(self) -> str | None:
        return self._place.project

    @property
    def file_name(self) -> str:
        return log_file_name(self._place.id)

    async def read(self, offset: int, limit: int = SLICE_BYTES_MAX) -> Slice:
        """See `Source`.

        Raises:
            Refused: the task has not begun, or never did.
            NotFound: it wrote no log.
            Unavailable: see `LogReader`.
        """
        # The state is read first: nothing is written after the state is final.
        is_at_end = self._size is None or offset >= self._size
        if is_at_end and self._size is not None and not self._place.state.is_final:
            self._place = await self._database.read(task_logs.log_place, TaskInstanceId(self._place.id))
        place = self._place
        if place.url is None and place.stored_at is None:
            if not (self._waits and not place.state.is_final):
                raise Refused(_without_log(place))
            self._size = 0
            return Slice(b"", 0, is_complete=False)
        data, self._size, first = await self._reader.read(place, offset, min(limit, SLICE_BYTES_MAX))
        return Slice(data[max(0, first - offset) :], self._size, is_complete=place.state.is_final, first=first)

    async def aclose(self) -> None:
        await self._reader.aclose()


def _without_log(place: LogPlace) -> str:
    ask = f"`shoal why {task_named(place.run, place.name)}`"
    if not place.state.is_final:
        return f'task "{place.name}" has no log yet: it is {place.state}; {ask}'
    whose = "no worker ran it" if place.worker is None else "the worker that ran it is no longer known"
    because = f" ({place.reason})" if place.reason else ""
    return f'task "{place.name}" has no log: {whose}; it is {place.state}{because}; {ask}'

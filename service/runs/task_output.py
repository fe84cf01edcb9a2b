"""The log of an attempt, in slices: from the worker that has it on disk."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx

from dao.postgres.database import Database
from dao.tasks import log_keys
from dao.views import lookups, task_logs
from dao.views.task_logs import LogPlace
from model.errors import NotFound, Refused, Unavailable
from model.ids import TaskInstanceId
from model.log_signature import TIME_HEADER, signed
from model.nodes import NodeState
from registry.clock import boottime_s
from service.explain.answer import task_named
from service.stream import SLICE_BYTES_MAX, Slice

TIMEOUT_S = 10.0
SIZE_HEADER = "X-Shoal-Log-Size"
FIRST_HEADER = "X-Shoal-Log-First"


class LogStore(Protocol):
    """Where logs are stored. The workers' disks are the only one; a store for logs that outlive their worker is
    another."""

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
class Decision:
    """What a task decided that no worker ran: it stands for a log."""

    id: int
    project: str | None
    sentence: str

    async def read(self, offset: int, limit: int = SLICE_BYTES_MAX) -> Slice:
        """See `Source`."""
        whole = f"{self.sentence}\n".encode()
        return Slice(whole[offset : offset + limit], len(whole), is_complete=True)

    async def aclose(self) -> None:
        """See `Source`."""


class TaskLog:
    """The log of one attempt, as a `Source`.

    Args:
        database: asked for the attempt's state, whenever its log was read to the end.
        place: where its log is.
        store: which has it.
        waits: a log that has not begun is empty; otherwise it is refused.
    """

    def __init__(self, database: Database, place: LogPlace, store: LogStore, *, waits: bool) -> None:
        self._database = database
        self._place = place
        self._store = store
        self._waits = waits
        self._size: int | None = None

    @property
    def id(self) -> int:
        """The attempt's."""
        return self._place.id

    @property
    def project(self) -> str | None:
        """Its run's."""
        return self._place.project

    async def read(self, offset: int, limit: int = SLICE_BYTES_MAX) -> Slice:
        """See `Source`.

        Raises:
            Refused: the task has not begun, or never did.
            NotFound: it wrote no log.
            Unavailable: see `LogStore`.
        """
        # The state is read first: nothing is written after the state is final.
        is_at_end = self._size is None or offset >= self._size
        if is_at_end and self._size is not None and not self._place.state.is_final:
            async with self._database.reading() as connection:
                self._place = await task_logs.log_place(connection, TaskInstanceId(self._place.id))
        place = self._place
        if place.url is None:
            if not (self._waits and not place.state.is_final):
                raise Refused(_without_log(place))
            self._size = 0
            return Slice(b"", 0, is_complete=False)
        data, self._size, first = await self._store.read(place, offset, min(limit, SLICE_BYTES_MAX))
        return Slice(data[max(0, first - offset) :], self._size, is_complete=place.state.is_final, first=first)

    async def aclose(self) -> None:
        """See `Source`."""
        await self._store.aclose()


def _without_log(place: LogPlace) -> str:
    ask = f"`shoal why {task_named(place.run, place.name)}`"
    if not place.state.is_final:
        return f'task "{place.name}" has no log yet: it is {place.state}; {ask}'
    whose = "no worker ran it" if place.worker is None else "the worker that ran it is no longer known"
    because = f" ({place.reason})" if place.reason else ""
    return f'task "{place.name}" has no log: {whose}; it is {place.state}{because}; {ask}'


class WorkerStore:
    """The log services of the workers, as a `LogStore` for one log.

    Each request has a signature: no secret is sent to an address that comes from a row.

    Args:
        database: has the workers' keys.
        ca: the CA of workers that use TLS; None = the system's CAs. Only read for an https address.
    """

    def __init__(self, database: Database, ca: Path | None) -> None:
        self._database = database
        self._ca = ca
        self._client: httpx.AsyncClient | None = None
        self._key: str | None = None
        self._ahead_s: float | None = None
        """How far the worker's clock is ahead of ours; None = unknown yet."""

    async def aclose(self) -> None:
        """See `LogStore`."""
        if self._client is not None:
            await self._client.aclose()

    async def read(self, place: LogPlace, offset: int, limit: int) -> tuple[bytes, int, int]:
        """See `LogStore`."""
        status, headers, content = await self._ask(place, offset, limit)
        if status == httpx.codes.UNAUTHORIZED and _is_time(its_time := headers.get(TIME_HEADER, "")):
            self._ahead_s, self._key = float(its_time) - boottime_s(), None
            status, headers, content = await self._ask(place, offset, limit)
        match status:
            case 200 if re.fullmatch("[0-9]{1,18}", headers.get(SIZE_HEADER, "")) and len(content) <= limit:
                first = headers.get(FIRST_HEADER, "")  # a worker of a former version does not say it
                return content, int(headers[SIZE_HEADER]), int(first) if re.fullmatch("[0-9]{1,18}", first) else 0
            case 404 if not place.state.is_final:
                return b"", 0, 0
            case 404:
                raise NotFound(f'task "{place.name}" ({place.id}) wrote no log on worker {place.worker_address}')
            case 401:
                said = content.decode(errors="replace").strip()
                raise Refused(
                    f"worker {place.worker_address} does not take our signature for its logs: {said}; "
                    f"another worker serves at its address, or its folder was replaced"
                )
            case other:
                raise Unavailable(f"the log service of worker {place.worker_address} answered {other}")

    async def _ask(self, place: LogPlace, offset: int, limit: int) -> tuple[int, httpx.Headers, bytes]:
        """Status, headers and at most a little more than `limit` bytes, whatever serves at that address."""
        assert place.url is not None and place.worker is not None
        if self._key is None:
            async with self._database.reading() as connection:
                self._key = await log_keys.key_of(connection, place.worker)
        if self._key is None:
            raise Unavailable(
                f"worker {place.worker_address} has not said yet how requests for its logs are signed; ask again"
            )
        if self._client is None:
            tls = trusted(self._ca) if place.url.startswith("https:") else False
            self._client = httpx.AsyncClient(verify=tls, timeout=TIMEOUT_S, trust_env=False)
        path = f"/log/{place.day}/{place.workflow_code}/{place.run}/{place.id}"
        now_s = 0.0 if self._ahead_s is None else boottime_s() + self._ahead_s
        query = signed(self._key, path, offset, limit, now_s)
        content = bytearray()
        try:
            async with self._client.stream("GET", f"{place.url}{path}", params=query) as response:
                async for part in response.aiter_raw():
                    content += part
                    if len(content) > limit:
                        break
            return response.status_code, response.headers, bytes(content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unavailable(await _unreachable(self._database, place, error)) from error


def _is_time(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,12}(\.[0-9]+)?", text) is not None


def trusted(ca: Path | None) -> ssl.SSLContext:
    """The CA whose certificates workers have; None = the system's. Raises `Refused`."""
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise Refused(f"worker.log_ca {ca} cannot be read: {error}") from None


async def _unreachable(database: Database, place: LogPlace, error: Exception) -> str:
    """Why a worker's log service does not answer, as a sentence."""
    life = None
    if place.worker is not None:
        async with database.reading() as connection:
            life = await lookups.node_life(connection, place.worker)
    if life is not None and life.state in (NodeState.LEFT, NodeState.FENCED) and life.ended_at is not None:
        return (
            f"the log is on worker {life.address}, which is gone since {life.ended_at:%Y-%m-%d %H:%M:%S} UTC "
            f"({life.ended_why}); it can be read again when a worker with that folder serves at that address"
        )
    said = str(error) or type(error).__name__
    return f"worker {place.worker_address} does not serve its logs at {place.url}: {said}"

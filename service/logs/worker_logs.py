"""Reads logs from the log services of the workers that have them on disk."""

from __future__ import annotations

import re
import ssl
from pathlib import Path

import httpx

from dao.postgres.database import Database
from dao.tasks import task_logs
from dao.tasks.task_logs import LogPlace
from model.errors import NotFound, Refused, Unavailable
from model.logs.signature import TIME_HEADER, signed
from registry.clock import boottime_s

TIMEOUT_S = 10.0
STORED_TIMEOUT_S = 3.0
SIZE_HEADER = "X-Shoal-Log-Size"
FIRST_HEADER = "X-Shoal-Log-First"


class WorkerLogs:
    """The log services of the workers, as a `LogReader` for one log.

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
        if self._client is not None:
            await self._client.aclose()

    async def read(self, place: LogPlace, offset: int, limit: int) -> tuple[bytes, int, int]:
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
            self._key = await self._database.read(task_logs.key_of, place.worker)
        if self._key is None:
            raise Unavailable(
                f"worker {place.worker_address} has not said yet how requests for its logs are signed; ask again"
            )
        if self._client is None:
            tls = trusted(self._ca) if place.url.startswith("https:") else False
            # What the log store has too is not waited for so long.
            within_s = TIMEOUT_S if place.stored_at is None else STORED_TIMEOUT_S
            self._client = httpx.AsyncClient(verify=tls, timeout=within_s, trust_env=False)
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
            said = str(error) or type(error).__name__
            raise Unavailable(
                f"worker {place.worker_address} does not serve its logs at {place.url}: {said}"
            ) from error


def _is_time(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,12}(\.[0-9]+)?", text) is not None


def trusted(ca: Path | None) -> ssl.SSLContext:
    """The CA whose certificates workers have; None = the system's. Raises `Refused`."""
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise Refused(f"worker.log_ca {ca} cannot be read: {error}") from None

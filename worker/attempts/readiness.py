"""Readiness: a worker probes each of its streams that has a probe, and writes only when the result changes.

A command runs in a process tree of its own, as the stream does: with its user, environment and folder, below a keeper,
which ends it with the worker's life and at the worker's deadline. What it prints is dropped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from urllib.parse import SplitResult, urlsplit

from pydantic import ValidationError

from dao.streams.stream_readiness import Probed
from dao.tasks.task_claims import ClaimedTask
from model.errors import Refused
from model.ids import TaskInstanceId
from model.streams.streams import Readiness

HOST = "127.0.0.1"
STATUS_LINE_BYTES_MAX = 8_192
FINE = range(200, 400)
"""The HTTP statuses that mean ready."""


class Dropped:
    """A `TaskLog` that drops everything."""

    def write(self, text: str | bytes) -> None:
        """Drop it."""

    def last_line(self) -> str:
        return ""


RunCommand = Callable[[list[str]], Awaitable[int]]
"""Runs a command beside the stream, and returns its exit code."""


class ReadinessBoard:
    """Probe results that the database does not have yet; `on_news` is called when there are any."""

    def __init__(self) -> None:
        self.on_news: Callable[[], None] = lambda: None
        self._unwritten: dict[TaskInstanceId, Probed] = {}

    @property
    def has_news(self) -> bool:
        return bool(self._unwritten)

    def put(self, probed: Probed) -> None:
        self._unwritten[probed.id] = probed
        self.on_news()

    def take(self) -> dict[TaskInstanceId, Probed]:
        taken, self._unwritten = self._unwritten, {}
        return taken

    def put_back(self, taken: Mapping[TaskInstanceId, Probed]) -> None:
        """Put back what was not written; newer results take precedence."""
        self._unwritten = {**taken, **self._unwritten}


class Verdict:
    """Derives from probe results whether a stream is ready. Pure."""

    def __init__(self, failures_max: int) -> None:
        self.is_ready = False
        self._failures_max = failures_max
        self._failures = 0

    def add(self, *, is_fine: bool) -> bool:
        """Count a result; return whether the verdict has changed."""
        self._failures = 0 if is_fine else self._failures + 1
        before = self.is_ready
        self.is_ready = is_fine or (before and self._failures < self._failures_max)
        return self.is_ready is not before


def readiness_of(task: ClaimedTask) -> Readiness | None:
    """The probe of a claimed task; None if it has none. Raises `Refused` if it cannot be read."""
    given = None if task.stream is None else json.loads(task.stream).get("readiness")
    if given is None:
        return None
    try:
        return Readiness.model_validate(given)
    except ValidationError as error:
        raise Refused(f"its readiness probe cannot be read: {error.errors()[0]['msg']}") from None


@asynccontextmanager
async def probed(task: ClaimedTask, board: ReadinessBoard, run: RunCommand) -> AsyncIterator[None]:
    """Probe a stream within the block; without a probe, do nothing."""
    if (readiness := readiness_of(task)) is None:
        yield
        return
    probing = asyncio.create_task(watch(task, readiness, board, run))
    try:
        yield
    finally:
        probing.cancel()
        await asyncio.gather(probing, return_exceptions=True)


async def watch(task: ClaimedTask, readiness: Readiness, board: ReadinessBoard, run: RunCommand) -> None:
    """Probe a stream until cancelled."""
    verdict = Verdict(readiness.failures)
    while True:
        if verdict.add(is_fine=await _is_fine(readiness, run)):
            board.put(Probed(task.id, task.workflow_instance_id, task.attempt, verdict.is_ready))
        await asyncio.sleep(readiness.every * 60)


async def _is_fine(readiness: Readiness, run: RunCommand) -> bool:
    with suppress(Exception):  # whatever it is: a probe that ends would leave the last verdict forever
        async with asyncio.timeout(readiness.timeout * 60):
            if readiness.command is not None:
                return await run(["bash", "-c", readiness.command]) == 0
            if readiness.url is not None:
                return await _status(urlsplit(readiness.url)) in FINE
            _, writer = await asyncio.open_connection(HOST, readiness.port)
            writer.close()
            return True
    return False


async def _status(url: SplitResult) -> int:
    """The status with which a web server answers. Raises `OSError`, `ValueError`, `EOFError`."""
    assert url.hostname is not None
    is_secure = url.scheme == "https"
    port = url.port or (443 if is_secure else 80)
    reader, writer = await asyncio.open_connection(
        url.hostname, port, ssl=True if is_secure else None, limit=STATUS_LINE_BYTES_MAX
    )
    try:
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        host = url.netloc.rpartition("@")[2]
        writer.write(
            f"GET {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: shoal\r\nConnection: close\r\n\r\n".encode()
        )
        await writer.drain()
        version, status, *_ = (await reader.readuntil(b"\n")).decode("latin-1").split()
        if not version.startswith("HTTP/"):
            raise ValueError(version)
        return int(status)
    finally:
        writer.close()

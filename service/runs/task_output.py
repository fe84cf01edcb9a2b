"""The log of a task, read over HTTP from the worker that has it on disk."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from dao.postgres.database import Database
from dao.tasks import log_keys
from dao.views import listings, lookups
from dao.views.listings import Run, TaskRun
from model.errors import NotFound, Refused, Unavailable
from model.log_signature import TIME_HEADER, signed
from model.nodes import NodeState
from registry.clock import boottime_s
from service.explain.answer import task_named

LOOK_EVERY_S = 0.5
TIMEOUT_S = 10.0
SLICE_BYTES_MAX = 1 << 20
SIZE_HEADER = "X-Shoal-Log-Size"


async def read_output(
    database: Database, run: Run, task: TaskRun, *, follow: bool, ca: Path | None
) -> AsyncIterator[bytes]:
    """The log's bytes from its beginning.

    Args:
        database: queried for the task's state while following.
        run: the task's run.
        task: whose log to read.
        follow: continue until the task has ended; otherwise return the present content.
        ca: the CA of workers that use TLS; None = the system's CAs.

    Raises:
        Refused: the task has not begun (and `follow` is off), or its worker does not accept our signature.
        NotFound: nothing was written, or not on that worker.
        Unavailable: the worker is gone, so its log cannot be read, or does not answer.
    """
    while follow and task.log_url is None and not task.state.is_final:
        await asyncio.sleep(LOOK_EVERY_S)
        task = await _again(database, run, task)
    if task.log_url is None:
        ask = f"`shoal why {task_named(run.id, task.name)}`"
        if not task.state.is_final:
            raise Refused(f'task "{task.name}" has no log yet: it is {task.state}; {ask}')
        whose = "no worker ran it" if task.worker is None else "the worker that ran it is no longer known"
        because = f" ({task.reason})" if task.reason else ""
        raise Refused(f'task "{task.name}" has no log: {whose}; it is {task.state}{because}; {ask}')
    path = f"/log/{task.log_day}/{run.workflow_code}/{run.id}/{task.id}"
    offset = 0
    tls = trusted(ca) if task.log_url.startswith("https:") else False
    async with httpx.AsyncClient(base_url=task.log_url, verify=tls, timeout=TIMEOUT_S, trust_env=False) as client:
        reader = _Reader(client, database, path)
        while True:
            # Read the state first: nothing is written after the state is final.
            task = await _again(database, run, task)
            size = None
            while size is None or offset < size:
                part, size = await reader.part(task, offset)
                offset += len(part)
                if part:
                    yield part
                if not part:
                    break
            if not follow or task.state.is_final:
                return
            await asyncio.sleep(LOOK_EVERY_S)


async def _again(database: Database, run: Run, task: TaskRun) -> TaskRun:
    async with database.reading() as connection:
        _, tasks = await listings.run(connection, run.id)
    return next(each for each in tasks if each.id == task.id)


class _Reader:
    """Requests parts of one log, each with its own signature: no secret is sent to an address that comes from a row."""

    def __init__(self, client: httpx.AsyncClient, database: Database, path: str) -> None:
        self._client = client
        self._database = database
        self._path = path
        self._ahead_s: float | None = None
        """How far the worker's clock is ahead of ours; None = unknown yet."""

    async def part(self, task: TaskRun, offset: int) -> tuple[bytes, int]:
        """Bytes from `offset`, and the size of the whole log. If nothing is written yet, an empty log while it runs."""
        response = await self._ask(task, offset)
        if response.status_code == 401 and _is_time(its_time := response.headers.get(TIME_HEADER, "")):
            self._ahead_s = float(its_time) - boottime_s()
            response = await self._ask(task, offset)
        match response.status_code:
            case 200:
                return response.content, int(response.headers[SIZE_HEADER])
            case 404 if not task.state.is_final:
                return b"", 0
            case 404:
                raise NotFound(f'task "{task.name}" ({task.id}) wrote no log on worker {task.worker_address}')
            case 401:
                raise Refused(
                    f"worker {task.worker_address} does not take our signature for its logs: {response.text.strip()}; "
                    f"another worker serves at its address, or its folder was replaced"
                )
            case other:
                raise Unavailable(f"the log service of worker {task.worker_address} answered {other}")

    async def _ask(self, task: TaskRun, offset: int) -> httpx.Response:
        assert task.worker is not None
        async with self._database.reading() as connection:
            key = await log_keys.key_of(connection, task.worker)
        if key is None:
            raise Unavailable(
                f"worker {task.worker_address} has not said yet how requests for its logs are signed; ask again"
            )
        now_s = 0.0 if self._ahead_s is None else boottime_s() + self._ahead_s
        query = signed(key, self._path, offset, SLICE_BYTES_MAX, now_s)
        try:
            return await self._client.get(self._path, params=query)
        except httpx.HTTPError as error:
            raise Unavailable(await _unreachable(self._database, task, error)) from error


def _is_time(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,12}(\.[0-9]+)?", text) is not None


def trusted(ca: Path | None) -> ssl.SSLContext:
    """The CA whose certificates workers have; None = the system's. Raises `Refused`."""
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise Refused(f"worker.log_ca {ca} cannot be read: {error}") from None


async def _unreachable(database: Database, task: TaskRun, error: httpx.HTTPError) -> str:
    """Why a worker's log service does not answer, as a sentence."""
    life = None
    if task.worker is not None:
        async with database.reading() as connection:
            life = await lookups.node_life(connection, task.worker)
    if life is not None and life.state in (NodeState.LEFT, NodeState.FENCED) and life.ended_at is not None:
        return (
            f"the log is on worker {life.address}, which is gone since {life.ended_at:%Y-%m-%d %H:%M:%S} UTC "
            f"({life.ended_why}); it can be read again when a worker with that folder serves at that address"
        )
    said = str(error) or type(error).__name__
    return f"worker {task.worker_address} does not serve its logs at {task.log_url}: {said}"

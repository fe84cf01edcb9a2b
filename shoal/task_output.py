"""The log of a task, read over HTTP from the worker on whose disk it lies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx

from dao import lists, questions
from dao.database import Database
from dao.lists import Run, TaskRun
from model.errors import NotFound, Refused, Unavailable
from model.nodes import NodeState

LOOK_EVERY_S = 0.5
TIMEOUT_S = 10.0
SIZE_HEADER = "X-Shoal-Log-Size"


async def read_output(
    database: Database, run: Run, task: TaskRun, *, follow: bool, token: str | None
) -> AsyncIterator[bytes]:
    """The log's bytes from its beginning.

    Args:
        database: asked for the task's state while following.
        run: to which the task belongs.
        task: whose log is wanted.
        follow: go on until the task has ended; else give what there is now.
        token: what the worker's log service wants to see, if it wants one.
    Raises:
        Refused: the task has not begun (and `follow` is off), or the token is wrong.
        NotFound: nothing was written, or not on that worker.
        Unavailable: the worker is gone, so its log cannot be read, or does not answer.
    """
    while follow and task.log_url is None and not task.state.is_final:
        await asyncio.sleep(LOOK_EVERY_S)
        task = await _again(database, run, task)
    if task.log_url is None:
        raise Refused(f'task "{task.name}" has no log yet: it is {task.state}; `shoal why {run.id}/{task.name}`')
    path = f"/log/{task.log_day}/{run.workflow_code}/{run.id}/{task.id}"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    offset = 0
    async with httpx.AsyncClient(base_url=task.log_url, headers=headers, timeout=TIMEOUT_S, trust_env=False) as client:
        while True:
            # The state first: what is written after it was read as final does not exist.
            task = await _again(database, run, task)
            size = None
            while size is None or offset < size:
                part, size = await _part(client, database, task, path, offset)
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
        _, tasks = await lists.run(connection, run.id)
    return next(each for each in tasks if each.id == task.id)


async def _part(
    client: httpx.AsyncClient, database: Database, task: TaskRun, path: str, offset: int
) -> tuple[bytes, int]:
    """Bytes from `offset`, and the size of the whole log. Nothing written yet is an empty log while the task runs."""
    try:
        response = await client.get(path, params={"offset": offset})
    except httpx.HTTPError as error:
        raise Unavailable(await _unreachable(database, task, error)) from error
    match response.status_code:
        case 200:
            return response.content, int(response.headers[SIZE_HEADER])
        case 404 if not task.state.is_final:
            return b"", 0
        case 404:
            raise NotFound(f'task "{task.name}" ({task.id}) wrote no log on worker {task.worker_address}')
        case 401:
            raise Refused(f"worker {task.worker_address} wants a token for its logs; set SHOAL_WORKER__LOG_TOKEN")
        case other:
            raise Unavailable(f"the log service of worker {task.worker_address} answered {other}")


async def _unreachable(database: Database, task: TaskRun, error: httpx.HTTPError) -> str:
    """The sentence why a worker's log service does not answer."""
    life = None
    if task.worker is not None:
        async with database.reading() as connection:
            life = await questions.node_life(connection, task.worker)
    if life is not None and life.state in (NodeState.LEFT, NodeState.FENCED) and life.ended_at is not None:
        return (
            f"the log is on worker {life.address}, which is gone since {life.ended_at:%Y-%m-%d %H:%M:%S} UTC "
            f"({life.ended_why}); it can be read again when a worker with that folder serves at that address"
        )
    said = str(error) or type(error).__name__
    return f"worker {task.worker_address} does not serve its logs at {task.log_url}: {said}"

"""Waiting for the result of a command: until a master took it, then until its run has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.postgres.database import Database
from dao.views import listings, lookups
from dao.views.listings import TaskRun
from dao.views.lookups import CommandFate
from model.errors import Denied, Refused, ShoalError, Unavailable
from model.ids import CommandId, WorkflowInstanceId
from model.states import WorkflowState

T = TypeVar("T")

LOOK_EVERY_S = 0.1
LOOK_EVERY_S_MAX = 1.0
TAKEN_WITHIN_S = 5.0
"""A master takes a command within moments; after this time it is better to report that none did."""


class NotDone(ShoalError):
    """A master checked a command and refused it: nothing was changed."""


@dataclass(frozen=True)
class RunEnd:
    """How a run ended. `tasks` counts those that began, each once."""

    run: WorkflowInstanceId
    workflow: str
    state: WorkflowState
    tasks: int
    took_s: float
    reason: str | None


async def until_taken(database: Database, command: CommandId, within_s: float = TAKEN_WITHIN_S) -> CommandFate | None:
    """What a master did with a command that changes a run; None when none took it within `within_s` seconds.

    Raises:
        NotDone: the master refused it; the sentence is its reason.
    """
    try:
        async with asyncio.timeout(within_s):
            while True:
                async with database.reading() as connection:
                    fate = await lookups.fate_of(connection, command)
                if fate.reason is not None:
                    raise NotDone(fate.reason)
                if fate.handled_at is not None:
                    return fate
                await asyncio.sleep(LOOK_EVERY_S)
    except TimeoutError:
        return None


async def follow_command(
    database: Database,
    command: CommandId,
    *,
    started: Callable[[CommandFate], None] = lambda _fate: None,
    polled: Callable[[Sequence[TaskRun]], None] = lambda _tasks: None,
    away: Callable[[Unavailable], None] = lambda _error: None,
) -> RunEnd:
    """Wait until the run that a command asks for has ended. Waits for a database that is away.

    Args:
        database: see `poll`.
        command: one that starts a run, or changes one.
        started: called once, when a master took it.
        polled: called with the attempts of its tasks, each time that they were read.
        away: called each time that the database did not answer.
    Raises:
        Refused: the command became an error command; the sentence is its reason.
        Denied: the database does not let us any more.
    """
    fate: CommandFate | None = None

    async def read(connection: AsyncConnection) -> RunEnd | None:
        nonlocal fate
        if fate is None or fate.run is None:
            fate = await lookups.fate_of(connection, command)
            if fate.reason is not None:
                raise Refused(f"command {command} was refused: {fate.reason}")
            if fate.run is None:
                return None
            started(fate)
        run, tasks = await listings.run(connection, fate.run)
        polled(tasks)
        if not run.state.is_final:
            return None
        name = run.workflow or str(run.workflow_code)
        begun = len({task.code for task in tasks if task.valid})
        return RunEnd(run.id, name, run.state, begun, run.took_s, run.reason)

    return await poll(database, read, away)


async def poll(
    database: Database, read: Callable[[AsyncConnection], Awaitable[T | None]], away: Callable[[Unavailable], None]
) -> T:
    """Ask the database, ten times a second at first, once a second later, until `read` has an answer.

    A database that is away is reported to `away`, and asked again.
    """
    pause_s = LOOK_EVERY_S
    while True:
        try:
            async with database.reading() as connection:
                if (found := await read(connection)) is not None:
                    return found
        except Denied:
            raise
        except Unavailable as error:
            away(error)
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.1, LOOK_EVERY_S_MAX)

"""What nodes that are gone left: their runs are handed on, their tasks marked as lost.

As sets, each kind in a transaction of its own, so that what is in the way of one kind does not stop the other. If a set
cannot be written, each of it is tried alone: what then fails waits aside, ever longer, and all others are handed on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from dao import nodes, task_events, task_instances, workflow_instances
from dao.errors import BadData, LockTaken
from dao.notify import EVENT, TASK, notify
from master.aside import PAUSE_FIRST_S, PAUSE_MAX_S
from model.ids import TaskInstanceId, WorkflowInstanceId
from registry.contact import boottime_s
from registry.life import Life

log = structlog.get_logger()

HAND_ON_BATCH = 500
Id = TypeVar("Id", bound=int)


@dataclass
class _Kind(Generic[Id]):
    """`find` names up to so many without those aside; `write` hands them on, or one alone, and counts them. `waits`
    holds for each that is aside how long it waits this time, and until when."""

    what: str
    find: Callable[[AsyncConnection, Sequence[Id]], Awaitable[list[Id]]]
    write: Callable[[AsyncConnection, Sequence[Id], Id | None], Awaitable[int]]
    waits: dict[Id, tuple[float, float]] = field(default_factory=dict)

    @property
    def aside(self) -> list[Id]:
        """What is not due yet."""
        return [id_ for id_, (_, until_s) in self.waits.items() if until_s > boottime_s()]

    def put_aside(self, id_: Id) -> float:
        """Until when it waits is kept; the seconds."""
        pause_s = min(PAUSE_MAX_S, 2 * self.waits.get(id_, (PAUSE_FIRST_S / 2, 0.0))[0])
        self.waits[id_] = (pause_s, boottime_s() + pause_s)
        return pause_s


class Leftovers:
    """Hands on what is left, as one master. Safe to be done by many at once."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._runs: _Kind[WorkflowInstanceId] = _Kind("run", _find_runs, _hand_on)
        self._tasks: _Kind[TaskInstanceId] = _Kind("task", _find_tasks, _mark_lost)

    async def hand_on(self) -> None:
        """All of it. Raises `ShoalError` when a server is in the way."""
        runs = await self._all_of(self._runs)
        tasks = await self._all_of(self._tasks)
        async with self._life.database.writing() as connection:
            await nodes.hold_alive(connection, self._life.me)
            await task_events.drop_stale(connection)
        if runs or tasks:
            log.info("handed_on", workflow_instances=runs, lost_tasks=tasks)

    async def _all_of(self, kind: _Kind[Id]) -> int:
        handed, goes_on = 0, True
        while goes_on:
            try:
                count = await self._write(kind, None)
                goes_on = count == HAND_ON_BATCH
            except BadData as error:
                log.warning("not_handed_on", what=kind.what, error=str(error), so="each is tried alone")
                count, goes_on = await self._one_by_one(kind)
            handed += count
        return handed

    async def _one_by_one(self, kind: _Kind[Id]) -> tuple[int, bool]:
        """How many of the next ones could be handed on, and whether there may be more."""
        async with self._life.database.writing() as connection:
            await nodes.hold_alive(connection, self._life.me)
            ids = await kind.find(connection, kind.aside)
        handed = 0
        for id_ in ids:
            try:
                handed += await self._write(kind, id_)
                kind.waits.pop(id_, None)
            except (BadData, LockTaken) as error:
                pause_s = kind.put_aside(id_)
                log.warning(
                    "left_as_it_is",
                    what=kind.what,
                    id=id_,
                    error=str(error),
                    tries_again_in_s=pause_s,
                    so="its owner is gone and it cannot be handed on; all others are",
                )
        return handed, len(ids) == HAND_ON_BATCH

    async def _write(self, kind: _Kind[Id], only: Id | None) -> int:
        async with self._life.database.writing() as connection:
            await nodes.hold_alive(connection, self._life.me)
            return await kind.write(connection, () if only is not None else kind.aside, only)


async def _find_runs(connection: AsyncConnection, aside: Sequence[WorkflowInstanceId]) -> list[WorkflowInstanceId]:
    return await workflow_instances.left_behind(connection, HAND_ON_BATCH, aside)


async def _hand_on(
    connection: AsyncConnection, aside: Sequence[WorkflowInstanceId], only: WorkflowInstanceId | None
) -> int:
    return await workflow_instances.hand_on(connection, HAND_ON_BATCH, aside=aside, only=only)


async def _find_tasks(connection: AsyncConnection, aside: Sequence[TaskInstanceId]) -> list[TaskInstanceId]:
    return await task_instances.lost(connection, HAND_ON_BATCH, aside)


async def _mark_lost(connection: AsyncConnection, aside: Sequence[TaskInstanceId], only: TaskInstanceId | None) -> int:
    count = await task_instances.mark_lost(connection, HAND_ON_BATCH, aside=aside, only=only)
    if count:
        await notify(connection, EVENT)
        await notify(connection, TASK)
    return count

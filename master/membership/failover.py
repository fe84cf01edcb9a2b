"""Failover of the runs of nodes that have ended, and their tasks marked as lost.

In sets, each kind in a separate transaction, so that a failure of one kind does not stop the other. If a set cannot
be written, its items are tried one by one: an item that fails is quarantined with a growing delay, and all others are
failed over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog

from dao.postgres.database import FencedTransaction
from dao.postgres.errors import BadData, LockTaken
from dao.postgres.notify import EVENT, TASK, notify
from dao.runs import failover
from dao.tasks import lost_tasks, task_events
from master.claim.quarantine import PAUSE_FIRST_S, PAUSE_MAX_S
from metrics import master as metrics
from model.ids import TaskInstanceId, WorkflowInstanceId
from node.life import Life
from registry.clock import boottime_s

log = structlog.get_logger()

FAILOVER_BATCH = 500
Id = TypeVar("Id", bound=int)


@dataclass
class _Kind(Generic[Id]):
    """`find` returns a batch of items that are not quarantined; `write` fails over these, or one alone, and counts
    them. `waits` holds for each quarantined item its current delay and when it ends."""

    what: str
    find: Callable[[FencedTransaction, Sequence[Id]], Awaitable[list[Id]]]
    write: Callable[[FencedTransaction, Sequence[Id], Id | None], Awaitable[int]]
    waits: dict[Id, tuple[float, float]] = field(default_factory=dict)

    @property
    def quarantined(self) -> list[Id]:
        """The quarantined items that are not due yet."""
        return [id_ for id_, (_, until_s) in self.waits.items() if until_s > boottime_s()]

    def quarantine(self, id_: Id) -> float:
        """Quarantine it; returns the delay in seconds."""
        pause_s = min(PAUSE_MAX_S, 2 * self.waits.get(id_, (PAUSE_FIRST_S / 2, 0.0))[0])
        self.waits[id_] = (pause_s, boottime_s() + pause_s)
        return pause_s


class Leftovers:
    """Fails over what ended nodes left, as one master. Many may do it at once."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._runs: _Kind[WorkflowInstanceId] = _Kind("run", _find_runs, _fail_over)
        self._tasks: _Kind[TaskInstanceId] = _Kind("task", _find_tasks, _mark_lost)

    async def fail_over(self) -> None:
        """Fail over all of it. Raises `ShoalError` when a server is unavailable."""
        runs = await self._all_of(self._runs)
        tasks = await self._all_of(self._tasks)
        async with self._life.writing() as connection:
            await task_events.drop_stale(connection)
        metrics.runs_failed_over.inc(runs)
        metrics.tasks_lost.inc(tasks)
        if runs or tasks:
            log.info("failed_over", workflow_instances=runs, lost_tasks=tasks)

    async def _all_of(self, kind: _Kind[Id]) -> int:
        handed, goes_on = 0, True
        while goes_on:
            try:
                count = await self._write(kind, None)
                goes_on = count == FAILOVER_BATCH
            except BadData as error:
                log.warning("not_failed_over", what=kind.what, error=str(error), so="each is tried alone")
                count, goes_on = await self._one_by_one(kind)
            handed += count
        return handed

    async def _one_by_one(self, kind: _Kind[Id]) -> tuple[int, bool]:
        """Fail over the next items one by one; returns how many succeeded, and whether there may be more."""
        async with self._life.writing() as connection:
            ids = await kind.find(connection, kind.quarantined)
        handed = 0
        for id_ in ids:
            try:
                handed += await self._write(kind, id_)
                kind.waits.pop(id_, None)
            except (BadData, LockTaken) as error:
                pause_s = kind.quarantine(id_)
                log.warning(
                    "failover_quarantined",
                    what=kind.what,
                    id=id_,
                    error=str(error),
                    tries_again_in_s=pause_s,
                    so="its owner is gone and it cannot be failed over; the others are failed over",
                )
        return handed, len(ids) == FAILOVER_BATCH

    async def _write(self, kind: _Kind[Id], only: Id | None) -> int:
        async with self._life.writing() as connection:
            return await kind.write(connection, () if only is not None else kind.quarantined, only)


async def _find_runs(
    connection: FencedTransaction, quarantined: Sequence[WorkflowInstanceId]
) -> list[WorkflowInstanceId]:
    return await failover.left_behind(connection, FAILOVER_BATCH, quarantined)


async def _fail_over(
    connection: FencedTransaction, quarantined: Sequence[WorkflowInstanceId], only: WorkflowInstanceId | None
) -> int:
    return await failover.fail_over(connection, FAILOVER_BATCH, without=quarantined, only=only)


async def _find_tasks(connection: FencedTransaction, quarantined: Sequence[TaskInstanceId]) -> list[TaskInstanceId]:
    return await lost_tasks.lost(connection, FAILOVER_BATCH, quarantined)


async def _mark_lost(
    connection: FencedTransaction, quarantined: Sequence[TaskInstanceId], only: TaskInstanceId | None
) -> int:
    count = await lost_tasks.mark_lost(connection, FAILOVER_BATCH, without=quarantined, only=only)
    if count:
        await notify(connection, EVENT)
        await notify(connection, TASK)
    return count

"""Failover of the runs of ended nodes; their tasks are marked as lost.

In sets, each kind in a separate transaction, so that a failure of one kind does not stop the other. What cannot be
failed over is quarantined (`master/claim/row_sets.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import structlog

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import EVENT, TASK, notify
from dao.runs import failover
from dao.tasks import lost_tasks, task_events
from master.claim.row_sets import RowSet
from metrics import master as metrics
from model.ids import TaskInstanceId, WorkflowInstanceId
from node.life import Life

log = structlog.get_logger()

FAILOVER_BATCH = 500
SO = "its owner is gone and it cannot be failed over; the others are failed over"
Id = TypeVar("Id", bound=int)


class Leftovers:
    """Fails over what ended nodes left. Many masters may do it at once."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._runs: RowSet[WorkflowInstanceId] = RowSet(
            life, "run", "failover", SO, FAILOVER_BATCH, find=failover.left_behind, write=failover.fail_over
        )
        self._tasks: RowSet[TaskInstanceId] = RowSet(
            life, "task", "failover", SO, FAILOVER_BATCH, find=lost_tasks.lost, write=_mark_lost
        )

    async def fail_over(self) -> None:
        """Fail over all of it. Raises `ShoalError` when a server is unavailable."""
        runs = await self._all_of(self._runs)
        tasks = await self._all_of(self._tasks)
        await self._life.write(task_events.drop_stale)
        metrics.runs_failed_over.inc(runs)
        metrics.tasks_lost.inc(tasks)
        if runs or tasks:
            log.info("failed_over", workflow_instances=runs, lost_tasks=tasks)

    async def _all_of(self, rows: RowSet[Id]) -> int:
        handed, goes_on = 0, True
        while goes_on:
            count, goes_on = await rows.write()
            handed += count
        return handed


async def _mark_lost(
    connection: FencedTransaction, limit: int, quarantined: Sequence[TaskInstanceId], only: TaskInstanceId | None
) -> int:
    count = await lost_tasks.mark_lost(connection, limit, quarantined, only)
    if count:
        await notify(connection, EVENT)
        await notify(connection, TASK)
    return count

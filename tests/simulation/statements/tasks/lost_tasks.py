"""`dao/tasks/lost_tasks.py` on rows in memory."""

from __future__ import annotations

from collections.abc import Sequence

from model.ids import TaskInstanceId
from model.nodes import NodeKind
from model.states import TaskState
from tests.simulation.statements.rows import RUNNING, owns_no_more, tell_event
from tests.simulation.statements.tasks import pool_leases, requeue
from tests.simulation.tables import Row, Transaction, Values

T = TaskState


def mark_lost(
    tx: Transaction, limit: int, *, without: Sequence[TaskInstanceId] = (), only: TaskInstanceId | None = None
) -> int:
    """DISPATCH and RUNNING without a living worker, FOR UPDATE SKIP LOCKED; surely unstarted = put back."""
    count = 0
    unstarted, started = [], []
    for row, task in _lost(tx, without):
        if count == limit or only not in (None, row.id) or not tx.try_lock(row):
            continue
        count += 1
        if task.state is T.DISPATCH:
            unstarted.append(TaskInstanceId(row.id))
        else:
            reason = "its worker was lost"
            tx.update(row, state=T.NEED_FAULT_TOLERANCE, ended_s=tx.server.now_s, reason=reason)
            pool_leases.leave(tx, task)
            started.append(task)
    for task in sorted(started, key=lambda each: (each.workflow_instance_id, each.task_code, each.attempt)):
        tell_event(tx, task.workflow_instance_id, task.task_code, task.attempt, T.NEED_FAULT_TOLERANCE)
    requeue.put_back(tx, unstarted)
    return count


def lost(tx: Transaction, limit: int, without: Sequence[TaskInstanceId] = ()) -> list[TaskInstanceId]:
    """The same, only held."""
    return [row.id for row, _ in _lost(tx, without) if tx.try_lock(row)][:limit]


def _lost(tx: Transaction, without: Sequence[TaskInstanceId]) -> list[tuple[Row, Values]]:
    return [
        (row, task)
        for row, task in tx.scan(tx.server.tasks.unfinished)
        if task.state in RUNNING
        and task.worker_id is not None
        and owns_no_more(tx, task.worker_id, NodeKind.WORKER)
        and row.id not in without
    ]

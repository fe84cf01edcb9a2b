"""`dao/tasks/lost_tasks.py` on rows in memory."""

from __future__ import annotations

from collections.abc import Sequence

from dao.tasks.lost_tasks import ATTEMPTS_MAX, LOST, SUSPECT, WORKERS_MAX
from model.cluster.nodes import NodeKind
from model.ids import TaskInstanceId
from model.runs.states import TaskState
from tests.simulation.statements.pools import pool_leases
from tests.simulation.statements.rows import RUNNING, owns_no_more, tell_event
from tests.simulation.statements.tasks import requeue
from tests.simulation.tables import Row, Transaction, Values

T = TaskState
SHORT_S = 600.0


def mark_lost(
    tx: Transaction, limit: int, without: Sequence[TaskInstanceId] = (), only: TaskInstanceId | None = None
) -> int:
    """DISPATCH and RUNNING without a living worker, FOR UPDATE SKIP LOCKED; surely unstarted = put back."""
    held: list[tuple[Row, Values]] = []
    for row, task in _lost(tx, without):
        if len(held) < limit and only in (None, row.id) and tx.try_lock(row):
            held.append((row, task))
    started = [(row, task, _workers_lost(tx, task)) for row, task in held if task.state is not T.DISPATCH]
    for row, task, workers in started:
        state, reason = (T.FAILURE, SUSPECT) if workers >= WORKERS_MAX else (T.NEED_FAULT_TOLERANCE, LOST)
        tx.update(row, state=state, ended_s=tx.server.now_s, reason=reason)
        pool_leases.leave(tx, task)
    for _, task, workers in sorted(started, key=lambda each: _order(each[1])):
        where = task.workflow_instance_id, task.task_code, task.attempt
        is_suspect = workers >= WORKERS_MAX
        tell_event(tx, *where, T.FAILURE if is_suspect else T.NEED_FAULT_TOLERANCE, is_suspect=is_suspect or None)
    requeue.put_back(tx, [TaskInstanceId(row.id) for row, task in held if task.state is T.DISPATCH])
    return len(held)


def _workers_lost(tx: Transaction, lost: Values) -> int:
    """How many workers were lost that ran this task; for a stream only those that ran it briefly."""
    return sum(
        lost.attempt - ATTEMPTS_MAX <= each.attempt <= lost.attempt
        and (each.attempt == lost.attempt or (each.reason or "").startswith(LOST))
        and not each.looks
        and (each.stream is None or each.started_s > (each.ended_s or tx.server.now_s) - SHORT_S)
        for _, each in tx.of_key(tx.server.tasks, lost.workflow_instance_id)
        if each.task_code == lost.task_code
    )


def _order(task: Values) -> tuple[int, int, int]:
    return task.workflow_instance_id, task.task_code, task.attempt


def lost(tx: Transaction, limit: int, without: Sequence[TaskInstanceId] = ()) -> list[TaskInstanceId]:
    """The same tasks, only locked."""
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

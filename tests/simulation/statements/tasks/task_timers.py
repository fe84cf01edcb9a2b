"""`dao/tasks/task_timers.py` on rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from model.ids import TaskInstanceId
from model.runs.queue_places import QueuedAttempt
from model.runs.states import TaskState, WaitReason
from model.time.durations import said_duration
from tests.simulation.statements.rows import note_owners, tell_event
from tests.simulation.statements.tasks import approvals, requeue
from tests.simulation.tables import Row, Transaction, Values

T = TaskState


def due(tx: Transaction, limit: int, without: Sequence[TaskInstanceId]) -> list[TaskInstanceId]:
    """DELAY_EXECUTION that is due, the longest first."""
    found = [row.id for row in _due(tx)]
    return [TaskInstanceId(id_) for id_ in found if id_ not in without][:limit]


def queue_due(
    tx: Transaction, limit: int, without: Sequence[TaskInstanceId] = (), only: TaskInstanceId | None = None
) -> list[QueuedAttempt]:
    """The same, FOR UPDATE SKIP LOCKED."""
    held: list[TaskInstanceId] = []
    for row in _due(tx):
        is_wanted = row.id not in without and only in (None, row.id)
        if is_wanted and len(held) < limit and tx.try_lock(row):
            held.append(TaskInstanceId(row.id))
    return requeue.put_back(tx, held)


def _due(tx: Transaction) -> list[Row]:
    waiting = [(row, task) for row, task in tx.scan(tx.server.tasks.unfinished) if task.state is T.DELAY_EXECUTION]
    due = [(task.due_s, row) for row, task in waiting if task.due_s <= tx.server.now_s]
    return [row for _, row in sorted(due, key=itemgetter(0))]


def _late(tx: Transaction) -> list[tuple[Row, Values]]:
    queued = [(row, task) for row, task in tx.scan(tx.server.tasks.unfinished) if task.state is T.QUEUED]
    limited = [(row, task) for row, task in queued if task.dispatch_by_s is not None]
    late = [(row, task) for row, task in limited if task.dispatch_by_s <= tx.server.now_s]
    return sorted(late, key=lambda each: each[1].dispatch_by_s)


def resume(tx: Transaction, limit: int) -> int:
    """Waits that began in the future begin now, FOR UPDATE SKIP LOCKED."""
    now_s, count = tx.server.now_s, 0
    for row, task in list(tx.scan(tx.server.tasks.unfinished)):
        if is_set_back(tx, task) and count < limit and tx.try_lock(row):
            changes: dict[str, float] = {"queued_s": now_s}
            if task.state is T.DELAY_EXECUTION:
                is_look = task.wait_reason is WaitReason.LOOK
                changes["due_s"] = now_s if is_look else now_s + max(task.due_s - task.queued_s, 0)
            if task.dispatch_by_s is not None:
                changes["dispatch_by_s"] = min(task.dispatch_by_s, now_s + task.dispatch_timeout_s)
            tx.update(row, **changes)
            count += 1
    return count


def is_set_back(tx: Transaction, task: Values) -> bool:
    """Whether it waits for a time, and the clock has been set back since it began to."""
    waits = task.state is T.DELAY_EXECUTION or (task.state is T.QUEUED and task.dispatch_by_s is not None)
    return waits and bool(task.queued_s > tx.server.now_s + 1)


def next_due_in_s(tx: Transaction) -> float:
    """For DELAY_EXECUTION that is not due yet, and attempts queued until a future time."""
    return min((at_s - tx.server.now_s for at_s in times_s(tx) if at_s > tx.server.now_s), default=1e9)


def times_s(tx: Transaction) -> list[float]:
    """The times at which attempts that wait for a time or, with a limit, for a worker are due."""
    tasks = [task for _, task in tx.scan(tx.server.tasks.unfinished)]
    waiting = [task.due_s for task in tasks if task.state is T.DELAY_EXECUTION]
    waiting += [task.due_s for _, task in approvals.limited(tx)]
    return waiting + [t.dispatch_by_s for t in tasks if t.state is T.QUEUED and t.dispatch_by_s is not None]


def undispatched(tx: Transaction, limit: int, without: Sequence[TaskInstanceId]) -> list[TaskInstanceId]:
    """QUEUED for too long, the longest first."""
    found = [row.id for row, _ in _late(tx)]
    return [TaskInstanceId(id_) for id_ in found if id_ not in without][:limit]


def fail_undispatched(
    tx: Transaction, limit: int, without: Sequence[TaskInstanceId] = (), only: TaskInstanceId | None = None
) -> int:
    """The same, FOR UPDATE SKIP LOCKED."""
    failed: list[int] = []
    for row, task in _late(tx):
        is_wanted = row.id not in without and only in (None, row.id)
        if is_wanted and len(failed) < limit and tx.try_lock(row):
            reason = f"no worker of group {task.worker_group} took it within its dispatch_timeout of "
            reason += f"{said_duration(task.dispatch_timeout_s)}; start one there, or give it more time"
            tx.update(row, state=T.FAILURE, ended_s=tx.server.now_s, reason=reason)
            tell_event(tx, task.workflow_instance_id, task.task_code, task.attempt, T.FAILURE)
            failed.append(task.workflow_instance_id)
    if failed:
        note_owners(tx, set(failed))
    return len(failed)

"""The statement of `dao/tasks/requeue.py`."""

from __future__ import annotations

from collections.abc import Sequence

from dao.postgres.notify import POOL
from model.choices import Priority
from model.ids import TaskInstanceId
from model.runs.queue_places import QueuedAttempt
from model.runs.states import TaskState, WaitReason, WorkflowState
from tests.simulation.statements.pools import pool_leases
from tests.simulation.statements.rows import note_owners, tell_event
from tests.simulation.tables import Transaction, Values

T, W = TaskState, WorkflowState
_GOES_ON = (W.RUNNING_EXECUTION, W.FAILOVER)
_PAUSED = (W.READY_PAUSE, W.PAUSE)
_WHY = {T.PAUSE: "it was held back by a pause", T.KILL: "it was stopped before it began"}


def put_back(tx: Transaction, ids: Sequence[TaskInstanceId]) -> list[QueuedAttempt]:
    """For locked rows: QUEUED, or as the run must halt; reads the run without a lock."""
    server = tx.server
    queued: list[QueuedAttempt] = []
    ended = []
    for id_ in sorted(ids):
        row = server.tasks.rows[id_]
        task = tx.see(row)
        assert task is not None
        pool_leases.leave(tx, task)
        state = _meant(task, tx.get(server.instances, task.workflow_instance_id), obeys=server.protections.obeyed)
        if state is T.QUEUED:
            is_look = task.wait_reason is WaitReason.LOOK
            queued_s = server.now_s if task.state is T.DELAY_EXECUTION and not is_look else task.queued_s
            by_s = dispatch_by_s(tx, task.dispatch_timeout_s)
            tx.update(row, state=state, worker_id=None, handover=None, queued_s=queued_s, dispatch_by_s=by_s)
            if task.resources is not None:
                tx.notes.append((POOL, task.worker_group))
            else:
                run, is_stream = task.workflow_instance_id, task.stream is not None
                queued.append(QueuedAttempt(Priority(task.workflow_priority), task.worker_group, run, is_stream))
        else:
            tx.update(row, state=state, worker_id=None, handover=None, ended_s=server.now_s, reason=_WHY[state])
            tell_event(tx, task.workflow_instance_id, task.task_code, task.attempt, state)
            ended.append(task.workflow_instance_id)
    if ended:
        note_owners(tx, set(ended))
    return queued


def dispatch_by_s(tx: Transaction, timeout_s: float | None) -> float | None:
    """Until when a worker must take what is queued now."""
    return None if timeout_s is None else tx.server.now_s + timeout_s


def _meant(task: Values, run: Values | None, *, obeys: bool) -> TaskState:
    state = None if run is None else run.requested_state or run.state
    if task.kill_requested:
        return T.KILL
    if state in _GOES_ON or not obeys:
        return T.QUEUED
    return T.PAUSE if state in _PAUSED else T.KILL

"""The statements of `dao/tasks/looks.py`."""

from __future__ import annotations

from collections.abc import Sequence

from dao.tasks.looks import InVain
from model.ids import Epoch, TaskInstanceId
from model.runs.states import TaskState, WaitReason, WorkflowState
from model.time.durations import said_duration
from tests.simulation.statements.pools import pool_leases
from tests.simulation.statements.rows import tell_event
from tests.simulation.tables import Transaction, Values

T, W = TaskState, WorkflowState
_WHY = {T.PAUSE: "it was held back by a pause", T.KILL: "it was stopped while it waited"}


def put_off(tx: Transaction, looks: Sequence[InVain], worker: Epoch) -> dict[TaskInstanceId, Epoch | None]:
    """FOR NO KEY UPDATE in the order of the ids; then of those that the worker still has: DELAY_EXECUTION with the time
    of the next look, or an end, with its event. It reads the run without a lock."""
    server = tx.server
    rows = [server.tasks.rows.get(look.id) for look in looks]
    for row in sorted((row for row in rows if row is not None and tx.see(row) is not None), key=lambda row: row.id):
        tx.lock(row)
    kept: dict[TaskInstanceId, Epoch | None] = {}
    for look in looks:
        task = tx.get(server.tasks, look.id)
        if task is None or task.worker_id != worker or task.attempt != look.attempt or task.ended_s is not None:
            continue
        row = server.tasks.rows[look.id]
        run = tx.get(server.instances, task.workflow_instance_id)
        state, count = _meant(tx, look, task, run), task.looks + 1
        if state is T.DELAY_EXECUTION:
            due_s = _due_s(tx, look, task)
            waits = {"worker_id": None, "started_s": None, "wait_reason": WaitReason.LOOK, "due_s": due_s}
            tx.update(row, state=state, looks=count, reason=None, **waits)
            pool_leases.leave(tx, task)
            kept[look.id] = None
            continue
        reason = _WHY.get(state)
        if state is look.again.late:
            reason = (
                f"it waited for its timeout of {said_duration(look.again.within_s or 0)}; its last look: {look.said}"
            )
        tx.update(row, state=state, ended_s=server.now_s, reason=reason, looks=count)
        pool_leases.leave(tx, task)
        tell_event(tx, task.workflow_instance_id, task.task_code, task.attempt, state)
        kept[look.id] = Epoch(0) if run is None else run.master_id
    return kept


def _meant(tx: Transaction, look: InVain, task: Values, run: Values | None) -> TaskState:
    again, now_s = look.again, tx.server.now_s
    asked = None if run is None else run.requested_state or run.state
    if task.kill_requested or asked is None:
        return T.KILL
    if asked in (W.READY_PAUSE, W.PAUSE) and tx.server.protections.obeyed:
        return T.PAUSE
    if asked not in (W.RUNNING_EXECUTION, W.FAILOVER) and tx.server.protections.obeyed:
        return T.KILL
    if again.at_s is not None and again.at_s <= now_s:
        return T.SUCCESS
    late_s = _late_s(tx, look, task)
    return again.late if late_s is not None and late_s <= now_s else T.DELAY_EXECUTION


def _late_s(tx: Transaction, look: InVain, task: Values) -> float | None:
    """When its timeout passes: it waits since the first of its attempts between which only workers were lost."""
    if look.again.within_s is None:
        return None
    others = [each for _, each in tx.of_key(tx.server.tasks, task.workflow_instance_id)]
    own = [each for each in others if each.task_code == task.task_code and each.attempt <= task.attempt]
    before = [each.attempt for each in own if each.attempt < task.attempt and each.state is not T.NEED_FAULT_TOLERANCE]
    since_s: float = min(each.queued_s for each in own if each.attempt > max(before, default=0))
    return since_s + look.again.within_s


def _due_s(tx: Transaction, look: InVain, task: Values) -> float:
    again, now_s = look.again, tx.server.now_s
    pause_s = min(again.every_s * again.factor ** min(task.looks, 60), again.every_s_max)
    next_s = now_s + pause_s if again.at_s is None else again.at_s
    late_s = _late_s(tx, look, task)
    return next_s if late_s is None else min(next_s, late_s)

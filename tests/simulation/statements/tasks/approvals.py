"""`dao/tasks/approvals.py` on rows in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dao.tasks.approvals import Approval
from model.ids import TaskCode, TaskInstanceId, WorkflowInstanceId
from model.logic.approval import APPROVAL, ApprovalParams, OnTimeout
from model.runs.states import TaskState
from tests.simulation.statements.rows import note_owners, tell_event
from tests.simulation.tables import Row, Transaction, Values

T = TaskState
_LATE = {OnTimeout.FAIL: T.FAILURE, OnTimeout.SKIP: T.SKIPPED, OnTimeout.APPROVE: T.SUCCESS}


def asks(task: Values) -> bool:
    """WHERE state = 'RUNNING_EXECUTION' AND task_type = 'APPROVAL'."""
    return task.state is T.RUNNING_EXECUTION and task.type == APPROVAL


def limited(tx: Transaction) -> Iterator[tuple[Row, Values]]:
    """Those with a timeout."""
    for row, task in tx.scan(tx.server.tasks.unfinished):
        if asks(task) and _params(task).timeout:
            yield row, task


def begun(tx: Transaction, attempts: Sequence[tuple[WorkflowInstanceId, TaskCode, int]]) -> list[Approval]:
    """For alerts, which only people read."""
    return []


def due(tx: Transaction, limit: int, without: Sequence[TaskInstanceId]) -> list[TaskInstanceId]:
    """Those whose timeout has passed, longest ago first."""
    found = [TaskInstanceId(row.id) for row, _ in _due(tx)]
    return [id_ for id_ in found if id_ not in without][:limit]


def end_late(
    tx: Transaction, limit: int, without: Sequence[TaskInstanceId] = (), only: TaskInstanceId | None = None
) -> int:
    """End those, FOR NO KEY UPDATE SKIP LOCKED."""
    ended: list[int] = []
    for row, task in _due(tx):
        if row.id not in without and only in (None, row.id) and len(ended) < limit and tx.try_lock(row):
            _end(tx, row, task, _LATE[_params(task).on_timeout], "nobody answered within its timeout", None)
            ended.append(task.workflow_instance_id)
    if ended:
        note_owners(tx, set(ended))
    return len(ended)


def give_answer(tx: Transaction, id_: TaskInstanceId, by: str, results: dict[str, str] | None) -> bool:
    """`held`, and then the function `answer_approval`. Returns whether it still waited."""
    row = tx.server.tasks.rows.get(id_)
    task = None if row is None else tx.see(row)
    if row is None or task is None or not asks(task) or not tx.try_lock(row):
        return False
    outputs = None if results is None else json.dumps({**results, "answered_by": by})
    said = "rejected" if results is None else "approved"
    _end(tx, row, task, T.FAILURE if results is None else T.SUCCESS, f"{said} by {by}", outputs)
    note_owners(tx, {task.workflow_instance_id})
    return True


def _end(tx: Transaction, row: Row, task: Values, state: TaskState, reason: str, outputs: str | None) -> None:
    tx.update(row, state=state, ended_s=tx.server.now_s, reason=reason, outputs=outputs)
    tell_event(tx, task.workflow_instance_id, task.task_code, task.attempt, state, given=outputs)


def _due(tx: Transaction) -> list[tuple[Row, Values]]:
    late = [(row, task) for row, task in limited(tx) if task.due_s <= tx.server.now_s]
    return sorted(late, key=lambda each: each[1].due_s)


def _params(task: Values) -> ApprovalParams:
    return ApprovalParams.read(json.loads(task.params))

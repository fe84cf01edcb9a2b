"""The statements of `dao/task_events.py`."""

from __future__ import annotations

from collections.abc import Sequence

from model.ids import Epoch, WorkflowInstanceId
from model.instances import ChildEnd, HaltAsked, TaskEnd
from model.nodes import NodeKind
from model.states import TaskState, WorkflowState
from tests.simulation.statements.rows import is_gone
from tests.simulation.tables import Transaction, Values

T, W = TaskState, WorkflowState


def consume(
    tx: Transaction,
    master: Epoch,
    limit: int,
    *,
    aside: Sequence[WorkflowInstanceId] = (),
    only: WorkflowInstanceId | None = None,
) -> list[TaskEnd | ChildEnd | HaltAsked]:
    """Those of the instances whose master_id is ours and that are not aside, or of one only; oldest first; DELETE."""
    told: list[TaskEnd | ChildEnd | HaltAsked] = []
    for row, event in list(tx.scan(tx.server.events.rows)):
        id_ = event.workflow_instance_id
        instance = tx.get(tx.server.instances, id_)
        wanted = id_ not in aside and only in (None, id_)
        if wanted and instance is not None and instance.master_id == master and len(told) < limit:
            tx.delete(row)
            told.append(_told(event))
    return told


def _told(event: Values) -> TaskEnd | ChildEnd | HaltAsked:
    id_, code = event.workflow_instance_id, event.task_code
    if code == 0:
        return HaltAsked(id_, W(event.state))
    if event.child_index is not None:
        return ChildEnd(id_, code, event.attempt, event.child_index, W(event.state), event.outputs)
    return TaskEnd(id_, code, event.attempt, T(event.state), event.outputs)


def drop_stale(tx: Transaction) -> int:
    """Of ended instances whose master is gone."""
    stale = [
        row
        for row, event in tx.scan(tx.server.events.rows)
        if (instance := tx.get(tx.server.instances, event.workflow_instance_id)) is not None
        and instance.state.is_final
        and is_gone(tx, instance.master_id, NodeKind.MASTER)
    ]
    for row in stale:
        tx.delete(row)
    return len(stale)


def forget(tx: Transaction, instances: Sequence[WorkflowInstanceId]) -> None:
    for row, event in list(tx.scan(tx.server.events.rows)):
        if event.workflow_instance_id in instances:
            tx.delete(row)

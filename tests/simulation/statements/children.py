"""The statements of `dao/ends.py` and `dao/children.py`, under the same names, but for those that both have."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from dao.children import ASKED_BY, Above, ChildRow, NewChild
from model.choices import ExecutionType
from model.command_moves import CommandType
from model.ids import TaskCode, WorkflowInstanceId
from model.instances import Parent
from model.states import TaskState, WorkflowState
from tests.simulation.statements import commands
from tests.simulation.statements.instances import note_owners, rows_of, tell_event
from tests.simulation.tables import Row, Transaction, Values

C, T, W = CommandType, TaskState, WorkflowState


def tell_ends(tx: Transaction, ids: Sequence[WorkflowInstanceId]) -> None:
    """`ends.tell`."""
    tell_parents(tx, ids)
    ended = [each for _, each in rows_of(tx, ids)]
    for code in sorted({each.workflow_code for each in ended if each.execution_type is not ExecutionType.PARALLEL}):
        commands.insert(tx, C.RECOVER_SERIAL_WAIT, workflow_code=str(code))


def tell_parents(tx: Transaction, ids: Sequence[WorkflowInstanceId]) -> None:
    above = [each for _, each in rows_of(tx, ids) if each.parent is not None]
    for each in above:
        parent = each.parent
        tell_event(tx, parent.instance, parent.code, parent.attempt, each.state, parent.index, each.outputs)
    if above:
        note_owners(tx, {each.parent.instance for each in above})


def above(tx: Transaction, ids: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, Above]:
    """FOR SHARE in the order of the ids."""
    for row, _ in rows_of(tx, set(ids)):
        tx.share(row)
    return {
        row.id: Above(each.requested_state or each.state, each.params, each.depth, _standing(tx, row.id))
        for row, each in rows_of(tx, set(ids))
    }


def _standing(tx: Transaction, id_: WorkflowInstanceId) -> dict[TaskCode, int]:
    return {
        task.task_code: task.attempt
        for _, task in tx.of_key(tx.server.tasks, id_)
        if task.state is T.RUNNING_EXECUTION and task.worker_id is None
    }


def _children(tx: Transaction, ids: Collection[int]) -> list[tuple[Row, Values]]:
    return [
        (row, each)
        for row, each in tx.scan(tx.server.instances.rows)
        if each.parent is not None and each.parent.instance in ids
    ]


def of(tx: Transaction, parents: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, list[ChildRow]]:
    found: dict[WorkflowInstanceId, list[ChildRow]] = {id_: [] for id_ in parents}
    for _, each in _children(tx, parents):
        found[each.parent.instance].append(ChildRow(each.parent, each.state, each.outputs))
    return found


def existing(tx: Transaction, parents: Sequence[Parent]) -> dict[Parent, WorkflowInstanceId]:
    instances = {parent.instance for parent in parents}
    return {each.parent: row.id for row, each in _children(tx, instances) if each.parent in parents}


def start(tx: Transaction, new: Sequence[NewChild]) -> None:
    for each in new:
        commands.insert(
            tx,
            C.START_PROCESS,
            workflow_code=str(each.workflow),
            params=json.dumps(dict(each.params)),
            priority=each.priority,
            worker_group=each.worker_group,
            schedule_time=None if each.schedule_time is None else each.schedule_time.isoformat(),
            time_zone=each.time_zone,
            parent=str(each.parent),
        )


_RESUMES = {
    W.FAILURE: C.START_FAILURE_TASK_PROCESS,
    W.PAUSE: C.RECOVER_SUSPENDED_PROCESS,
    W.STOP: C.RECOVER_SUSPENDED_PROCESS,
}


def resume(tx: Transaction, links: Sequence[tuple[Parent, int]]) -> None:
    for parent, attempt in links:
        for row, each in _children(tx, {parent.instance}):
            if each.parent == parent:
                after = tx.update(row, parent=Parent(parent.instance, parent.code, attempt, parent.index))
                if after.state in _RESUMES:
                    commands.insert(tx, _RESUMES[after.state], workflow_instance_id=str(row.id), created_by=ASKED_BY)


def halt_children(tx: Transaction, halts: Mapping[WorkflowInstanceId, TaskState]) -> None:
    """`children.halt`."""
    for row, each in _children(tx, halts):
        asked = each.requested_state or each.state
        pauses = halts[each.parent.instance] is T.PAUSE
        if each.state.is_final or asked is W.READY_STOP or (pauses and asked is W.READY_PAUSE):
            continue
        commands.insert(tx, C.PAUSE if pauses else C.STOP, workflow_instance_id=str(row.id))


def tell_unmade(tx: Transaction, ends: Sequence[tuple[Parent, WorkflowState]]) -> None:
    """`children.tell`."""
    for parent, state in ends:
        tell_event(tx, parent.instance, parent.code, parent.attempt, state, parent.index)
    note_owners(tx, {parent.instance for parent, _ in ends})
